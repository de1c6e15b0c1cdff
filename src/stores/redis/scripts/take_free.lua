-- The usual cases, put before take.lua, whose KEYS and ARGV it has: nobody owns,
-- waits, or is kept a place; or the place is kept for this bidder, and nobody
-- waits behind it. No helper. Answers the token alone, which is the microsecond
-- of the server's clock, too. In every other case it has done nothing, and
-- take.lua goes on.
local call, pcall, key, id, lease = redis.call, redis.pcall, KEYS[1], ARGV[1], ARGV[2]
-- The score of one that had a place in the queue.
local waited, usual = ARGV[4], nil
-- Who was seen last matters where there is a queue. A user of earlier versions
-- may not ask EXISTS.
if not waited then
  usual = pcall('EXISTS', key, KEYS[2], KEYS[3], KEYS[4]) == 0
elseif pcall('EXISTS', KEYS[2], KEYS[3], KEYS[5]) == 0 then
  -- A kept place, as `is_kept_for` of common.lua has it, and one that ends.
  local owner, kept = pcall('GET', key), pcall('GET', KEYS[4])
  if owner == id and kept == id then
    local left = call('PTTL', KEYS[4])
    local owned = call('PTTL', key)
    usual = owned >= 0 and owned <= left
  end
end
if usual then
  local time = call('TIME')
  local number, micros = time[1], time[2]
  -- Joined where it can be: writing a number costs more, and so does reading
  -- one. Of equally many digits the smaller is the smaller text, too.
  number = #micros == 6 and number .. micros or string.format('%s%06d', number, micros)
  -- Tokens end at 2^53. The third argument begins with the largest that was seen.
  if #number == 16 and number < '9007199254740992' and ARGV[3] < number then
    -- Read and written at once: the first write, so an error has changed
    -- nothing. Redis 6.0 has no GET here.
    local last = pcall('SET', KEYS[6], number, 'KEEPTTL', 'GET')
    -- An error is a table, which has no length.
    if not last or (#last == 16 and last < number) then
      -- It ends seven days after the last grant, to a quarter of an hour: its
      -- first seven digits count those.
      if not last or last < string.sub(number, 1, 7) then
        call('PEXPIRE', KEYS[6], 604800000)
      end
      -- The nonce, and the space before it.
      local grant = number .. string.sub(ARGV[3], 17, 49)
      call('SET', key, id, 'PX', lease)
      call('SET', KEYS[3], grant, 'PX', lease)
      if waited then call('DEL', KEYS[4]) end
      -- A denied PUBLISH must not undo the grant: it is told beside the answer.
      local heard = pcall('PUBLISH', key, 'acquired@@' .. id)
      if heard == 0 or type(heard) == 'number' then return number end
      local denied = heard.err or 'PUBLISH failed'
      return { 'won', id .. '@@' .. lease, grant, string.sub(number, 1, 13), '', '', denied }
    elseif type(last) == 'string' then
      -- The clock is behind an earlier grant, or this is no token: put back.
      call('SET', KEYS[6], last, 'KEEPTTL')
    elseif not string.find(last.err, 'syntax', 1, true) then
      return last
    end
  end
end
