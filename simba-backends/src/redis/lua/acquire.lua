
-- Takes names for a session, for as long as it has left. KEYS: the session, its leases, and each lease. ARGV: the
-- session, the names.
--
-- Answers 'expired', or for each name: 'granted' or 'owned' with token and what is left, 'held' with what the holder
-- has left, 'corrupt' with the reason.
local left, lease = session_left(KEYS[1])
if not left then return 'expired' end
on(KEYS[2], 'SCARD')
local answers = {}
for i = 3, #KEYS do
  local answer = take(KEYS[i], ARGV[1], now + left)
  if answer[1] == 'granted' then redis.call('SADD', KEYS[2], ARGV[i - 1]) end
  answers[i - 2] = answer
end
keep_index(KEYS[2], left, lease)
return answers
