
-- Lists a group that a session joins, and where it is on this server makes the session its member. KEYS: the
-- session, its groups, and the group. ARGV: the session, the group.
--
-- Answers 'expired', or what the session has left and how long its lease is.
local left, lease = session_left(KEYS[1])
if not left then return 'expired' end
if KEYS[3] then on(KEYS[3], 'ZCARD') end
on(KEYS[2], 'SADD', ARGV[2])
keep_index(KEYS[2], left, lease)
if KEYS[3] then enroll(KEYS[3], ARGV[1], now + left) end
return {left, lease}
