-- Frees a mutex whoever owns it. ARGV: 1 only this token or '', 2 reserve ms,
-- 3 cluster 0/1
local token, reserve, cluster = unpack(ARGV)
local time = redis.call('TIME')

-- Without a token, keys that hold something else are removed: nobody could
-- take the mutex beside them. The fence goes only if it is one of them.
local function is_strange(...)
  local said = redis.pcall(...)
  return type(said) == 'table' and said.err and string.find(said.err, 'WRONGTYPE', 1, true)
end

local function mend()
  local mended = is_strange('ZRANGE', KEYS[2], 0, 0)
  if mended then redis.call('DEL', KEYS[2]) end
  if is_strange('ZRANGE', KEYS[5], 0, 0) then
    redis.call('DEL', KEYS[5])
    mended = true
  end
  if is_strange('GET', KEYS[6]) then
    redis.call('DEL', KEYS[6])
    mended = true
  end
  if is_strange('GET', KEYS[1]) or is_strange('GET', KEYS[3]) or is_strange('GET', KEYS[4]) then
    redis.call('DEL', KEYS[1], KEYS[3], KEYS[4])
    mended = true
  end
  return mended
end

local mended = token == '' and mend()
local owner, grant = word()
local meant = token == '' or string.sub(grant, 1, #token + 1) == token .. ' '
if mended and owner == '@@' then
  tell(KEYS[1] .. '.freed', '')
  return { 'won', '@@', '', now_ms(time), '', '', trouble }
end
if owner == '@@' or not meant then
  return { 'refused', owner, grant, now_ms(time), '', '', '' }
end
local rest = free(redis.call('GET', KEYS[1]), reserve, cluster)
return { 'won', '@@', '', now_ms(time), '', '', trouble, rest }
