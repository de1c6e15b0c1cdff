-- The usual cases, put before take.lua, whose KEYS and ARGV it has: nobody owns,
-- waits, or is kept a place; or the place is kept for this bidder, and nobody
-- waits behind it. No helper. Answers 1 for the token that the bidder named, or
-- the token alone, which is the microsecond of the server's clock, too. In every
-- other case it has done nothing, and take.lua goes on.
local call, pcall, key, id, lease = redis.call, redis.pcall, KEYS[1], ARGV[1], ARGV[2]
local words, manner, waited = ARGV[3], ARGV[4] or '1 1 250 0 0', ARGV[5]
-- A grant that names its owner behind it is the fence's, and in no other key.
local named, usual = #words > 49, nil
-- Who was seen last matters where there is a queue. A user of earlier versions
-- may not ask EXISTS.
if not waited then
  usual = pcall('EXISTS', key, KEYS[2], KEYS[3], KEYS[4]) == 0
elseif pcall('EXISTS', KEYS[2], KEYS[3], KEYS[5]) == 0 then
  local owner, kept = pcall('GET', key), pcall('GET', KEYS[4])
  if owner == id and kept == id then
    -- An id that no other has owns nothing beside the mark of a kept place. Of any
    -- other it is one as `is_kept_for` of common.lua has it, and one that ends.
    usual = named
    if not named then
      local left = call('PTTL', KEYS[4])
      local owned = call('PTTL', key)
      usual = owned >= 0 and owned <= left
    end
  end
end
if usual then
  -- Of equally many digits the smaller is the smaller text, too: to write a
  -- number costs more, and so does to read one.
  local said = string.sub(words, 1, 16)
  local number, none, last = said, nil, nil
  if not ARGV[4] or string.byte(manner) == 49 then
    -- Read and written at once: the first write, so an error has changed
    -- nothing. Redis 6.0 has no GET here.
    last = pcall('SET', KEYS[6], named and words or number, 'KEEPTTL', 'GET')
    none = not last
  end
  if not last then
    -- The bidder does not reckon, or nothing shows that its token is the largest.
    local time = call('TIME')
    number = #time[2] == 6 and time[1] .. time[2] or string.format('%s%06d', time[1], time[2])
    -- Tokens end at 2^53.
    usual = #number == 16 and number < '9007199254740992' and said < number
    if usual then
      local grant = named and number .. string.sub(words, 17) or number
      last = pcall('SET', KEYS[6], grant, 'KEEPTTL', 'GET')
      none = none or not last
    end
  end
  -- An error is a table, which has no length. Behind the 16 digits of a token stands a
  -- space, or nothing.
  if
    usual
    and (none or ((#last == 16 or (#last > 16 and string.byte(last, 17) == 32)) and last < number))
  then
    -- It ends seven days after the last grant, to a quarter of an hour: its
    -- first seven digits count those.
    if none or last < string.sub(number, 1, 7) then call('PEXPIRE', KEYS[6], 604800000) end
    call('SET', key, id, 'PX', lease)
    if not named then call('SET', KEYS[3], number .. string.sub(words, 17), 'PX', lease) end
    if waited then call('DEL', KEYS[4]) end
    -- A denied PUBLISH must not undo the grant: it is told beside the answer.
    local heard = pcall('PUBLISH', key, 'acquired@@' .. id)
    if heard ~= 0 and type(heard) ~= 'number' then
      local grant = number .. string.sub(words, 17, 49)
      local denied = heard.err or 'PUBLISH failed'
      return { 'won', id .. '@@' .. lease, grant, string.sub(number, 1, 13), '', '', denied }
    end
    if number == said then return 1 end
    return number
  elseif type(last) == 'string' then
    -- The clock is behind an earlier grant, or this is no token: put back.
    call('SET', KEYS[6], last, 'KEEPTTL')
  elseif none then
    -- The clock is behind what it was reckoned to show: there is no fence, as before.
    call('DEL', KEYS[6])
  elseif last and not string.find(last.err, 'syntax', 1, true) then
    return last
  end
end
