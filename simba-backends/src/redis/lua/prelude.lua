-- What all scripts know. All times are milliseconds of this server's clock; only durations leave it.

-- The present, read once: nothing else happens on the server while a script runs.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Ends the script with an error that names the key.
local function corrupt(key, reason)
  error({err = 'CORRUPT ' .. key .. ' ' .. reason})
end

local function is_wrong_type(reply)
  return type(reply) == 'table' and reply.err and string.sub(reply.err, 1, 9) == 'WRONGTYPE'
end

-- Runs a command on a key that only Simba writes to. A script does this to each of its keys before it writes
-- anything.
local function on(key, command, ...)
  local reply = redis.pcall(command, key, ...)
  if is_wrong_type(reply) then corrupt(key, 'is of another type') end
  if type(reply) == 'table' and reply.err then error(reply) end
  return reply
end

-- How much of its lease a session has left, and how long its lease is; nil for one that is gone.
local function session_left(key)
  local fields = on(key, 'HMGET', 'lease')
  local expires = redis.call('PEXPIRETIME', key)
  if expires == -2 or (expires >= 0 and expires <= now) then return nil end
  local lease = tonumber(fields[1])
  if expires == -1 then corrupt(key, 'never expires') end
  if not lease then corrupt(key, 'has no lease') end
  return expires - now, lease
end

-- Renews a session, and answers what it has left and the time since it was renewed last; nil for one that is gone. A
-- call that comes late takes nothing back from a newer one, and a clock that was set back shows as no time at all.
local function renew(key, lease)
  local left = session_left(key)
  if not left then return nil end
  local renewed = tonumber(redis.call('HGET', key, 'renewed')) or now
  left = math.max(left, lease)
  redis.call('HSET', key, 'lease', lease, 'renewed', now)
  redis.call('PEXPIREAT', key, now + left)
  return left, math.max(0, now - renewed)
end

-- Keeps an index as long as anything that it lists can last: what a session is granted at its very end lasts for
-- another lease.
local function keep_index(key, left, lease)
  redis.call('PEXPIREAT', key, now + left + lease + 1000)
end

local function is_number(text)
  return text ~= '' and not string.find(text, '%D')
end

-- What stands at a lease's key: session, token, expiry. Nil and the reason for what Simba cannot have written. One
-- that never was, or was released, has no session and is over. Tokens and times have at most 15 digits, which Lua's
-- numbers count exactly.
local function lease_at(key)
  local fields = redis.pcall('HMGET', key, 'session', 'token', 'expires')
  if is_wrong_type(fields) then return nil, 'is of another type' end
  if fields.err then error(fields) end
  local session, token, expires = fields[1] or '', fields[2], fields[3]
  if not token then
    if session == '' and not expires and redis.call('EXISTS', key) == 0 then return '', '0', 0 end
    return nil, 'has no token'
  end
  if not is_number(token) or #token > 15 or token == '0' then return nil, 'has a token that is no number' end
  if session == '' then return '', token, 0 end
  if not expires then return nil, 'has a holder and no expiry' end
  if not is_number(expires) or #expires > 15 then return nil, 'has an expiry that is no number' end
  return session, token, tonumber(expires)
end

-- Takes a lease that nobody holds. The holder's own repeat is written too: WAIT waits for what was written, and the
-- grant itself may have reached no replica.
local function take(key, session, expires)
  local holder, token, over = lease_at(key)
  if not holder then return {'corrupt', key .. ' ' .. token} end
  if over > now then
    if holder ~= session then return {'held', over - now} end
    local later = math.max(over, expires)
    redis.call('HSET', key, 'expires', later)
    return {'owned', token, later - now}
  end
  token = string.format('%.0f', tonumber(token) + 1)
  if #token > 15 then return {'corrupt', key .. ' has a token that cannot rise'} end
  redis.call('HSET', key, 'session', session, 'token', token, 'expires', expires)
  return {'granted', token, expires - now}
end

-- Makes a lease that the session holds last at least until then, and answers its token. One that ran out is not
-- revived. A keep-alive does this ten thousand times: what is as it should be is not looked at twice.
local call, pcall = redis.call, redis.pcall
local function extend(key, session, expires)
  local fields = pcall('HMGET', key, 'session', 'token', 'expires')
  local token, over = fields[2], tonumber(fields[3])
  if fields[1] == session and over and over > now and token and is_number(token) then
    if expires > over then call('HSET', key, 'expires', expires) end
    return token
  end
  return lease_at(key) and 'lost' or 'corrupt'
end

-- Frees a lease and says so to whom waits. Its token stays. Deletes, because a server whose memory is full takes
-- nothing else.
local function free(key)
  redis.call('HDEL', key, 'session')
  redis.pcall('PUBLISH', key, 'released')
end

-- Makes a membership that is there last at least until then, and answers 1; or 0. In a group that is corrupt the
-- session may be: its leases do not depend on that.
local function extend_membership(key, session, expires)
  local score = redis.pcall('ZSCORE', key, session)
  if is_wrong_type(score) then return 1 end
  if type(score) == 'table' and score.err then error(score) end
  if not score or tonumber(score) <= now then return 0 end
  redis.call('ZADD', key, 'XX', 'GT', expires, session)
  return 1
end

-- Makes a session a member until then, and removes the members whose time is over.
local function enroll(key, session, expires)
  on(key, 'ZREMRANGEBYSCORE', '-inf', now)
  redis.call('ZADD', key, 'GT', expires, session)
end
