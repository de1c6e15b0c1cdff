-- Looks at many reentrant locks and changes nothing.
-- KEYS: for each 1 lock, 2 token
-- Answers for each: holder, how often it holds, expiry ms, token; the holder is
-- empty where there is no such lock
local answers = {}
for at = 1, #KEYS, 2 do
  -- Their keys look like anybody's: what is no lock is passed over.
  local flat = redis.pcall('HGETALL', KEYS[at])
  if flat.err and not string.find(flat.err, 'WRONGTYPE', 1, true) then
    return flat
  end
  local left, token = 0, ''
  if flat.err or #flat ~= 2 or not string.match(flat[2], '^%d+$') then
    flat = { '', '0' }
  else
    left = redis.call('PTTL', KEYS[at])
    local last = redis.pcall('GET', KEYS[at + 1])
    if type(last) == 'string' then token = last end
  end
  answers[#answers + 1] = { flat[1], flat[2], left, token }
end
return answers
