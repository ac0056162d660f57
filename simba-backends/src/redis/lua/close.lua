
-- Ends a session before anything that it has is freed, so that nothing is added meanwhile. KEYS: the session, its
-- leases, its groups.
--
-- Answers the names and the groups that it may have.
redis.call('DEL', KEYS[1])
return {on(KEYS[2], 'SMEMBERS'), on(KEYS[3], 'SMEMBERS')}
