
-- Renews a session, on a server that has all keys. KEYS: the session, its leases, its groups. ARGV: its id, its lease,
-- how many of the leases are to be extended at once, the prefix of the keys that the indexes tell of. What is held no
-- more leaves the indexes.
--
-- Answers 'expired', or what is left, the time since the last renewal, the leases extended as name and token in turn,
-- the names of corrupt ones, the names of the rest, the groups.
local session, lease, most, prefix = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local names, groups = on(KEYS[2], 'SMEMBERS'), on(KEYS[3], 'SMEMBERS')
local left, elapsed = renew(KEYS[1], lease)
if not left then return 'expired' end

local held, corrupted, rest = {}, {}, {}
for i, name in ipairs(names) do
  if i > most then
    rest[#rest + 1] = name
  else
    local token = extend(prefix .. 'lease:{' .. name .. '}', session, now + left)
    if token == 'corrupt' then
      corrupted[#corrupted + 1] = name
    elseif token == 'lost' then
      redis.call('SREM', KEYS[2], name)
    else
      held[#held + 1] = name
      held[#held + 1] = token
    end
  end
end

local joined = {}
for _, group in ipairs(groups) do
  if extend_membership(prefix .. 'group:{' .. group .. '}', session, now + left) == 1 then
    joined[#joined + 1] = group
  else
    redis.call('SREM', KEYS[3], group)
  end
end
keep_index(KEYS[2], left, lease)
keep_index(KEYS[3], left, lease)
return {left, elapsed, held, corrupted, rest, joined}
