
-- Answers who holds a lease: session, token, and what is left; or nothing. KEYS: the lease.
local holder, token, over = lease_at(KEYS[1])
if not holder then corrupt(KEYS[1], token) end
if over <= now then return false end
return {holder, token, over - now}
