-- Frees one grant. ARGV: 1 id; 2 the grant, and behind it the id if the fence
-- names it, or nothing: then the id, which no other has, has this grant alone;
-- 3 reserve ms and cluster 0/1, unless these are the usual ones.
-- Answers as take.lua does; the time only with who owns instead.
if not is_held then
  local time = redis.call('TIME')
  local by, theirs = word()
  return { 'refused', by, theirs, now_ms(time), '', '', '' }
end
local reserve, cluster = string.match(manner, '^(%d+) (%d)$')
local rest = free(id, reserve, cluster)
return { 'won', '@@', '', '', '', '', trouble, rest }
