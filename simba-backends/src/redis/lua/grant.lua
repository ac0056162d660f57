
-- Takes leases for a session of another server, for one full lease of this server's time. KEYS: leases. ARGV: the
-- session, its lease.
--
-- Answers for each as an acquire does.
local answers = {}
for i, key in ipairs(KEYS) do answers[i] = take(key, ARGV[1], now + ARGV[2]) end
return answers
