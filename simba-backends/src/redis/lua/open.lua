
-- Opens a session. KEYS: the session. ARGV: its lease, its metadata.
local expires = now + ARGV[1]
redis.call('HSET', KEYS[1], 'metadata', ARGV[2], 'lease', ARGV[1], 'renewed', now)
redis.call('PEXPIREAT', KEYS[1], expires)
return expires - now
