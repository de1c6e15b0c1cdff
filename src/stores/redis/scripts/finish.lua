-- Records how a claimed tick ended, if nobody has claimed since.
-- KEYS: 1 schedule; ARGV: 1 tick, 2 token, 3 state, 4 the note to write, if any
local time = redis.call('TIME')
local entry = redis.call('HMGET', KEYS[1], 'last_tick', 'token', 'state')
if entry[1] ~= ARGV[1] or entry[2] ~= ARGV[2] or entry[3] == 'planned' then return 0 end
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'finished_at', now)
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'run', ARGV[4]) end
return 1
