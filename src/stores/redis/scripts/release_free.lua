-- The usual case, put before release.lua, whose KEYS and ARGV it has: the grant
-- is there, and nobody waits. Five calls. In every other case it has done
-- nothing, and release.lua goes on.
local owner, held = redis.pcall('GET', KEYS[1]), redis.pcall('GET', KEYS[4])
if owner == ARGV[1] and held == ARGV[2] and redis.pcall('EXISTS', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[1], KEYS[4], KEYS[5])
  local heard = redis.pcall('PUBLISH', KEYS[1] .. '.freed', ARGV[1])
  if type(heard) == 'number' then return 1 end
  return { 'won', '@@', '', '', '', '', heard.err or 'PUBLISH failed' }
end
