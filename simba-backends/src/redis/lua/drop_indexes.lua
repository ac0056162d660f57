
-- Ends a close. KEYS: the session's leases, its groups.
return redis.call('DEL', KEYS[1], KEYS[2])
