
-- Frees leases that the session holds with these tokens. KEYS: leases, and where it is on this server the session's
-- index. ARGV: the session, then name and token of each.
--
-- Answers for each 'gone', 'kept' where the session holds it with another token, or why not.
local answers = {}
local count = (#ARGV - 1) / 2
local index = KEYS[count + 1]
for i = 1, count do
  local holder, token = lease_at(KEYS[i])
  answers[i] = holder and 'gone' or KEYS[i] .. ' ' .. token
  if holder == ARGV[1] then
    if token == ARGV[2 * i + 1] then
      free(KEYS[i])
      if index then redis.call('SREM', index, ARGV[2 * i]) end
    else
      answers[i] = 'kept'
    end
  end
end
return answers
