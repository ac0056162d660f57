
-- Answers who holds a lease: session, token, and what is left; or nothing. KEYS: the lease.
local found, reason = lease_at(KEYS[1])
if not found then corrupt(KEYS[1], reason) end
if found.expires <= now then return false end
return {found.session, found.token, found.expires - now}
