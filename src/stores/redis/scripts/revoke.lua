-- Frees a mutex whoever owns it. ARGV: 1 only this token or '', 2 reserve ms,
-- 3 cluster 0/1
local token, reserve, cluster = unpack(ARGV)
local time = redis.call('TIME')
local owner, grant = word()
local meant = token == '' or string.sub(grant, 1, #token + 1) == token .. ' '
if owner == '@@' or not meant then
  return { 'refused', owner, grant, now_ms(time), '', '', '' }
end
local rest = free(redis.call('GET', KEYS[1]), reserve, cluster)
return { 'won', '@@', '', now_ms(time), '', '', trouble, rest }
