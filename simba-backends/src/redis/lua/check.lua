
-- Does once what the other scripts do, to find a permission that is missing, and leaves nothing behind. KEYS: the
-- keys of a session that does not exist, its leases, its groups. ARGV: a channel.
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) ~= 'table' or not reply.err then return end
  redis.pcall('DEL', KEYS[1], KEYS[2], KEYS[3])
  -- Redis before 7.2 does not say which command it is.
  if string.find(reply.err, "can't run this command", 1, true) then
    error({err = "NOPERM no permissions to run the '" .. string.lower(command) .. "' command"})
  end
  error(reply)
end

try('DEL', KEYS[1], KEYS[2], KEYS[3])
try('HSET', KEYS[1], 'lease', 1)
try('HMGET', KEYS[1], 'lease')
try('HGET', KEYS[1], 'lease')
try('HDEL', KEYS[1], 'session')
try('EXISTS', KEYS[1])
try('PEXPIREAT', KEYS[1], now + 1000)
try('PEXPIRETIME', KEYS[1])
try('SADD', KEYS[2], 'x')
try('SCARD', KEYS[2])
try('SMEMBERS', KEYS[2])
try('SREM', KEYS[2], 'x')
try('ZADD', KEYS[3], 'GT', 1, 'x')
try('ZCARD', KEYS[3])
try('ZSCORE', KEYS[3], 'x')
try('ZRANGEBYSCORE', KEYS[3], '-inf', '+inf')
try('ZREM', KEYS[3], 'x')
try('ZREMRANGEBYSCORE', KEYS[3], '-inf', '+inf')
try('DEL', KEYS[1], KEYS[2], KEYS[3])
try('PUBLISH', ARGV[1], 'released')
return 1
