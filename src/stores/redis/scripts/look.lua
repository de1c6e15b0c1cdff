-- Who owns. ARGV: 1 whether the fence and the waiters are wanted too, 0/1
-- Answers: owner word, grant, now ms, fence, waiters
local time = redis.call('TIME')
local owner, grant = word()
if ARGV[1] ~= '1' then return { owner, grant, now_ms(time), '', {} } end
local fence = redis.call('GET', KEYS[6])
return { owner, grant, now_ms(time), fence or '', redis.call('ZRANGE', KEYS[2], 0, -1) }
