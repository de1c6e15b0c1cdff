-- The usual cases, put before release.lua, whose KEYS and ARGV it has: the grant
-- is there, and nobody waits; or one of ours waits first, and hears. In every
-- other case it has freed nothing, and release.lua goes on.
local pcall, key, id, held = redis.pcall, KEYS[1], ARGV[1], ARGV[2] or ''
local manner, is_held = ARGV[3] or '250 0', pcall('GET', key) == id
if is_held and held ~= '' then
  -- A grant with the id behind it is the fence's; any other has a key of its own.
  is_held = pcall('GET', #held > 49 and KEYS[6] or KEYS[3]) == held
end
if is_held then
  local waiting = pcall('EXISTS', KEYS[2])
  if waiting == 0 then
    -- Of an id that no other has there is no key of the grant.
    if #held == 49 then
      redis.call('DEL', key, KEYS[3], KEYS[4])
    else
      redis.call('DEL', key, KEYS[4])
    end
    local heard = pcall('PUBLISH', key .. '.freed', id)
    if heard == 0 or type(heard) == 'number' then return 1 end
    return { 'won', '@@', '', '', '', '', heard.err or 'PUBLISH failed' }
  elseif waiting == 1 then
    -- As `call_next` and `keep` of common.lua do for one that lives: ours have a
    -- fraction in their score, and the next of ours stands by.
    local line = redis.call('ZRANGE', KEYS[2], 0, 1, 'WITHSCORES')
    local first, second = line[1], line[3]
    local is_ours = string.find(line[2], '.', 1, true)
    if held == '' then
      -- By the id alone it may be a place kept for it, and the fence may name who is
      -- next, from an earlier grant: `keep` takes that name out.
      local fence = pcall('GET', KEYS[6])
      is_ours = is_ours and type(fence) == 'string' and string.sub(fence, 51) == id
    end
    if is_ours and (not second or string.find(line[4], '.', 1, true)) and first ~= id then
      -- The first write, and it fails where there can be no queue.
      redis.call('ZREM', KEYS[5], first)
      local word = 'released@@' .. id
      local heard = pcall('PUBLISH', key .. ':' .. first, word)
      if second and heard ~= 0 then heard = pcall('PUBLISH', key .. ':' .. second, word) end
      -- A dead one is struck there, and one that must not be told is not called.
      if type(heard) == 'number' and heard > 0 then
        local reserve = string.match(manner, '^%d+')
        redis.call('ZREM', KEYS[2], first)
        redis.call('SET', key, first, 'PX', reserve)
        if #held == 49 then redis.call('DEL', KEYS[3]) end
        redis.call('SET', KEYS[4], first, 'PX', reserve)
        return 1
      end
    end
  end
end
