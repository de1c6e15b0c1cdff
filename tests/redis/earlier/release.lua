-- Frees one grant. ARGV: 1 id, 2 grant, 3 reserve ms, 4 cluster 0/1
local id, grant, reserve, cluster = unpack(ARGV)
local time = redis.call('TIME')
if redis.call('GET', KEYS[1]) ~= id or redis.call('GET', KEYS[4]) ~= grant then
  local owner, theirs = word()
  return { 'refused', owner, theirs, now_ms(time), '', '', '' }
end
local rest = free(id, reserve, cluster)
return { 'won', '@@', '', now_ms(time), '', '', trouble, rest }
