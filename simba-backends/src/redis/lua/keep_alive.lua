
-- Renews a session. KEYS: the session, its leases, its groups. ARGV: its id, its lease, how many of the leases are
-- to be extended here, the prefix. Where that is more than none all keys are on this server, and what is held no
-- more leaves the indexes.
--
-- Answers 'expired', or what is left, the time since the last renewal, the leases extended here as name and token
-- in turn, the names of corrupt ones, the names of the rest, the groups extended here, the rest of the groups.
local session, lease, most, prefix = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local before = session_left(KEYS[1])
if not before then return 'expired' end
local names, groups = on(KEYS[2], 'SMEMBERS'), on(KEYS[3], 'SMEMBERS')
local renewed = tonumber(redis.call('HGET', KEYS[1], 'renewed')) or now
-- One that comes late takes nothing back from a newer one.
local left = math.max(before, lease)
redis.call('HSET', KEYS[1], 'lease', lease, 'renewed', now)
redis.call('PEXPIREAT', KEYS[1], now + left)

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

local joined, others = {}, {}
for _, group in ipairs(groups) do
  if most == 0 then
    others[#others + 1] = group
  elseif extend_membership(prefix .. 'group:{' .. group .. '}', session, now + left) == 1 then
    joined[#joined + 1] = group
  else
    redis.call('SREM', KEYS[3], group)
  end
end
keep_index(KEYS[2], left, lease)
keep_index(KEYS[3], left, lease)
-- A clock that was set back shows as no time at all.
return {left, math.max(0, now - renewed), held, corrupted, rest, joined, others}
