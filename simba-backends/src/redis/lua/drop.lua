
-- Ends a close. KEYS: an index of the session.
return redis.call('DEL', KEYS[1])
