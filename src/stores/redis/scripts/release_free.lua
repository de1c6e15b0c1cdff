-- The usual case, put before release.lua, whose KEYS and ARGV it has: the grant
-- is there, and nobody waits. Five calls. In every other case it has done
-- nothing, and release.lua goes on.
local pcall, key, id = redis.pcall, KEYS[1], ARGV[1]
local owner, held = pcall('GET', key), pcall('GET', KEYS[3])
if owner == id and held == ARGV[2] and pcall('EXISTS', KEYS[2]) == 0 then
  redis.call('DEL', key, KEYS[3], KEYS[4])
  local heard = pcall('PUBLISH', key .. '.freed', id)
  if type(heard) == 'number' then return 1 end
  return { 'won', '@@', '', '', '', '', heard.err or 'PUBLISH failed' }
end
