
-- Ends a membership. KEYS: the group. ARGV: the session.
return on(KEYS[1], 'ZREM', ARGV[1])
