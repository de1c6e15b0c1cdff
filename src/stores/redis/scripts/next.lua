-- Goes on where another call met too many dead: strikes the silent out of the
-- queue, and calls the next if nobody owns. ARGV: 1 in whose name, 2 reserve
-- ms, 3 cluster 0/1. Answers what is left to do: 'dead', 'silent' or ''
local by, reserve, cluster = unpack(ARGV)
local time = redis.call('TIME')
local taken = redis.call('GET', KEYS[1]) or redis.call('GET', KEYS[4])
local gone, more = silent(time, '')
check_queue()
strike(gone)
if not taken then
  local id, ours, dead = call_next(by, nil, cluster)
  if id then keep(id, ours, by, reserve) end
  if dead then return 'dead' end
end
return more and 'silent' or ''
