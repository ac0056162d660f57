
-- Extends leases of a session that lives for so much longer. KEYS: leases, and where it is on this server the
-- session's index. ARGV: the session, what it has left, the names.
--
-- Answers for each its token, 'lost' or 'corrupt'.
local answers = {}
local session, expires, index = ARGV[1], now + ARGV[2], KEYS[#ARGV - 1]
for i = 1, #ARGV - 2 do
  answers[i] = extend(KEYS[i], session, expires)
  if index and answers[i] == 'lost' then redis.call('SREM', index, ARGV[i + 2]) end
end
return answers
