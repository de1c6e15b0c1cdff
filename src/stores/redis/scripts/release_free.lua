-- The usual case, put before release.lua, whose KEYS and ARGV it has: the grant
-- is there, and nobody waits. Five calls. In every other case it has done
-- nothing, and release.lua goes on.
local pcall, id = redis.pcall, ARGV[1]
local owner, held = pcall('GET', KEYS[1]), pcall('GET', KEYS[4])
if owner == id and held == ARGV[2] and pcall('EXISTS', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[1], KEYS[4], KEYS[5])
  local heard = pcall('PUBLISH', KEYS[1] .. '.freed', id)
  if type(heard) == 'number' then return 1 end
  return { 'won', '@@', '', '', '', '', heard.err or 'PUBLISH failed' }
end
