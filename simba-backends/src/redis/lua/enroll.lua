
-- Makes a session of another server a member, for one full lease of this server's time. KEYS: the group. ARGV: the
-- session, its lease.
enroll(KEYS[1], ARGV[1], now + ARGV[2])
return 1
