
-- Answers what an index lists, and keeps it for as long as it may be needed. KEYS: the index alone, since a key that is
-- not there holds up a call with others while their slot moves to another server. ARGV: the session's lease; 0 when it
-- is closed.
local lease = tonumber(ARGV[1])
if lease > 0 then keep_index(KEYS[1], lease, lease) end
return on(KEYS[1], 'SMEMBERS')
