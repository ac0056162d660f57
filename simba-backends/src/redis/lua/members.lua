
-- Answers the sessions of a group's members whose time is not over. KEYS: the group.
return on(KEYS[1], 'ZRANGEBYSCORE', '(' .. string.format('%.0f', now), '+inf')
