
-- Answers the positions, from 1, of the leases that nobody holds. KEYS: leases.
local free_ones = {}
for i, key in ipairs(KEYS) do
  local holder, _, over = lease_at(key)
  if holder and over <= now then free_ones[#free_ones + 1] = i end
end
return free_ones
