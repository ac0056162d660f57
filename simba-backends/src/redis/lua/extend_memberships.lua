
-- Extends memberships of a session that lives for so much longer. KEYS: groups. ARGV: the session, what it has left.
--
-- Answers 1 for each in which it is a member, else 0.
local answers = {}
for i, key in ipairs(KEYS) do answers[i] = extend_membership(key, ARGV[1], now + ARGV[2]) end
return answers
