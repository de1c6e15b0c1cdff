-- Looks at many mutexes and changes nothing.
-- KEYS: for each 1 owner, 2 queue, 3 grant, 4 kept, 5 seen, 6 fence
-- Answers: now ms, then for each: owner, its pttl, grant, fence, kept 0/1,
-- the first thousand waiters, which keys are of another type
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local answers = { now }
local strange

-- One key of a wrong type must not hide the other mutexes.
local function read(what, ...)
  local said = redis.pcall(...)
  if type(said) ~= 'table' or not said.err then return said end
  if not string.find(said.err, 'WRONGTYPE', 1, true) then redis.call(...) end
  strange[#strange + 1] = what
  return false
end

for at = 1, #KEYS, 6 do
  strange = {}
  -- The mark is read before what it is about: see is_kept_for in common.lua.
  local kept = read('kept', 'GET', KEYS[at + 3])
  local kept_for = kept and redis.call('PTTL', KEYS[at + 3]) or -2
  local owner = read('owner', 'GET', KEYS[at])
  local left = owner and redis.call('PTTL', KEYS[at]) or -2
  local grant = read('grant', 'GET', KEYS[at + 2])
  local fence = read('fence', 'GET', KEYS[at + 5])
  local waiters = read('queue', 'ZRANGE', KEYS[at + 1], 0, 999)
  read('seen', 'ZRANGE', KEYS[at + 4], 0, 0)
  local is_kept = owner and not grant and kept == owner and left <= kept_for
  answers[#answers + 1] = { owner, left, grant or '', fence or '', is_kept and 1 or 0,
    waiters or {}, table.concat(strange, ', ') }
end
return answers
