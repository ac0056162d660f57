
-- Takes names out of a session's index that it does not hold, unless an attempt that is newer than this call came
-- before it: that may be about one of them. KEYS: the session, its leases. ARGV: the call's number, the names.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local attempt = tonumber(redis.call('HGET', KEYS[1], 'attempt'))
if attempt and attempt >= tonumber(ARGV[1]) then return 0 end
for i = 2, #ARGV do redis.call('SREM', KEYS[2], ARGV[i]) end
return 1
