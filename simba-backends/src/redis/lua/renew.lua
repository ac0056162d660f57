
-- Renews a session whose leases may be on other servers. KEYS: the session. ARGV: its lease.
--
-- Answers 'expired', or what is left and the time since the last renewal.
local left, elapsed = renew(KEYS[1], tonumber(ARGV[1]))
if not left then return 'expired' end
return {left, elapsed}
