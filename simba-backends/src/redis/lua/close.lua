
-- Ends a session before anything that it has is freed, so that nothing is added meanwhile. KEYS: the session.
return redis.call('DEL', KEYS[1])
