-- Reads the ledgers of many schedules and changes nothing. KEYS: their keys
-- Answers: now ms, then for each its fields and values, or how many bytes of
-- what else there is
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local answers = { now }
for at = 1, #KEYS do
  -- One key of a wrong type must not hide the other ledgers.
  local said = redis.pcall('HGETALL', KEYS[at])
  if said.err then
    if not string.find(said.err, 'WRONGTYPE', 1, true) then redis.call('HGETALL', KEYS[at]) end
    said = 'another type'
  end
  answers[#answers + 1] = said
end
return answers
