
-- Answers the metadata of each session, or nothing for one that is gone. KEYS: sessions.
local answers = {}
for i, key in ipairs(KEYS) do
  answers[i] = redis.call('EXISTS', key) == 1 and (on(key, 'HGET', 'metadata') or '')
end
return answers
