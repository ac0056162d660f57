
-- Does once what the other scripts do, to find a permission that is missing, and leaves nothing behind. KEYS: the
-- keys of a session that does not exist, its leases, its groups. ARGV: a channel.
redis.call('HSET', KEYS[1], 'lease', 1)
redis.call('HMGET', KEYS[1], 'lease')
redis.call('HGET', KEYS[1], 'lease')
redis.call('HDEL', KEYS[1], 'session')
redis.call('EXISTS', KEYS[1])
redis.call('PEXPIREAT', KEYS[1], now + 1000)
redis.call('PEXPIRETIME', KEYS[1])
redis.call('SADD', KEYS[2], 'x')
redis.call('SCARD', KEYS[2])
redis.call('SMEMBERS', KEYS[2])
redis.call('SREM', KEYS[2], 'x')
redis.call('ZADD', KEYS[3], 'GT', 1, 'x')
redis.call('ZSCORE', KEYS[3], 'x')
redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '+inf')
redis.call('ZREM', KEYS[3], 'x')
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '+inf')
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('PUBLISH', ARGV[1], 'released')
return 1
