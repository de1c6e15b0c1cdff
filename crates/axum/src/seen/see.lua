local token = ARGV[1]
local seen = string.match(redis.call('GET', KEYS[1]) or '0', '^0*(%d+)$')
if not seen then
  return redis.error_reply('ERR the fence ' .. KEYS[1] .. ' is not a number')
end
-- Tokens exceed 2^53, where Lua's numbers lose digits: compare the digits.
if #token < #seen or (#token == #seen and token < seen) then
  return seen
end
redis.call('SET', KEYS[1], token)
if KEYS[2] then
  redis.call('SET', KEYS[2], ARGV[2])
end
return token
