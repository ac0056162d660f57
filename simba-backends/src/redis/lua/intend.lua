
-- Lists the names that a session is about to ask for, before it does: a grant whose answer is lost is found through
-- the index. KEYS: the session, its leases. ARGV: the call's number, how many names it no longer holds, these, and
-- those that it asks for.
--
-- Answers 'expired', or what the session has left and how long its lease is.
local left, lease = session_left(KEYS[1])
if not left then return 'expired' end
on(KEYS[2], 'SCARD')
local number, gone = tonumber(ARGV[1]), tonumber(ARGV[2])
local last = tonumber(redis.call('HGET', KEYS[1], 'attempt')) or 0
if number > last then
  for i = 3, gone + 2 do redis.call('SREM', KEYS[2], ARGV[i]) end
  redis.call('HSET', KEYS[1], 'attempt', ARGV[1])
end
for i = gone + 3, #ARGV do on(KEYS[2], 'SADD', ARGV[i]) end
keep_index(KEYS[2], left, lease)
return {left, lease}
