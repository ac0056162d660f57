
-- Extends leases of a session that lives for so much longer. KEYS: leases, and where it is on this server the
-- session's index. ARGV: the session, what it has left, how many the leases are.
--
-- Answers for each its token, 'lost' or 'corrupt'.
local answers = {}
local session, expires, count = ARGV[1], now + ARGV[2], tonumber(ARGV[3])
local index = KEYS[count + 1]
for i = 1, count do
  answers[i] = extend(KEYS[i], session, expires)
  -- The name is what decides the key's slot.
  if index and answers[i] == 'lost' then redis.call('SREM', index, string.match(KEYS[i], '{(.*)}$')) end
end
return answers
