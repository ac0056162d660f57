
-- Frees what a closed session has. KEYS: leases, then groups. ARGV: the session, how many of the keys are leases.
for i, key in ipairs(KEYS) do
  if i > tonumber(ARGV[2]) then
    on(key, 'ZREM', ARGV[1])
  else
    local holder = lease_at(key)
    if holder == ARGV[1] then free(key) end
  end
end
return 1
