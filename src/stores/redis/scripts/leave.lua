-- Undoes a bid: its grant by its nonce, its kept place, its place in line.
-- ARGV: 1 id, 2 nonce, 3 reserve ms, 4 cluster 0/1. Answers without the time.
local id, nonce, reserve, cluster = unpack(ARGV)
local owner = redis.call('GET', KEYS[1])
local grant = grant_of(owner)
local mine = false
if owner == id then
  local won = grant and string.sub(grant, -#nonce - 1) == ' ' .. nonce
  mine = won or (not grant and is_kept_for(id))
end
check_queue()
strike({ id })
local rest = ''
if mine then rest = free(id, reserve, cluster) end
return { 'won', '@@', '', '', '', '', trouble, rest }
