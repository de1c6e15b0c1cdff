-- Writes the count of a hold, if it is still there, and extends it.
-- KEYS: 1 lock, 2 token. ARGV: 1 holder, 2 token, 3 count, 4 expiry ms.
-- Answers 1 or 0.
local id, token, count, expiry = unpack(ARGV)
local last = redis.call('GET', KEYS[2])
if redis.call('HEXISTS', KEYS[1], id) == 0 or (last and last ~= token) then return 0 end
redis.call('HSET', KEYS[1], id, count)
redis.call('PEXPIRE', KEYS[1], expiry)
return 1
