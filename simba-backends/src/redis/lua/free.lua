
-- Frees what a closed session has; what is corrupt is left as it is. KEYS: leases, then groups. ARGV: the session,
-- how many of the keys are leases.
for i, key in ipairs(KEYS) do
  if i > tonumber(ARGV[2]) then
    local reply = redis.pcall('ZREM', key, ARGV[1])
    if type(reply) == 'table' and reply.err and not is_wrong_type(reply) then error(reply) end
  else
    local holder = lease_at(key)
    if holder == ARGV[1] then free(key) end
  end
end
return 1
