-- Who holds a lock. KEYS: 1 lock. Answers as release.lua does.
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local holder = redis.call('HKEYS', KEYS[1])[1]
local word = '@@'
if holder then word = holder .. '@@' .. redis.call('PTTL', KEYS[1]) end
return { 'refused', word, '', now, '', '', '' }
