
-- Takes a group out of a session's index. KEYS: the session's groups. ARGV: the group.
return on(KEYS[1], 'SREM', ARGV[1])
