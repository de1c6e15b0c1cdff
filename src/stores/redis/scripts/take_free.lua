-- The usual case, put before take.lua, whose KEYS and ARGV it has: nobody owns,
-- waits, or is kept a place. Six calls and no helper. Answers the token alone,
-- which is the microsecond of the server's clock, too. In every other case it
-- has done nothing, and take.lua goes on.
local call, pcall, id, lease = redis.call, redis.pcall, ARGV[1], ARGV[3]
local there = pcall('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6])
-- One of them may be the fence. A user of earlier versions may not ask EXISTS.
if type(there) == 'number' and there < 2 then
  local time = call('TIME')
  local second, micros = time[1], time[2]
  -- Joined where it can be: writing a number costs more.
  local number = #micros == 6 and second .. micros or string.format('%s%06d', second, micros)
  local clock, seen = tonumber(number), tonumber(ARGV[5] or 0)
  local token = clock
  if seen >= token then
    token = seen + 1
    number = string.format('%.0f', token)
  end
  local is_won = token < 9007199254740992
  if is_won and there == 0 then
    call('SET', KEYS[3], number, 'EX', 604800)
  elseif is_won then
    -- Read and written at once if it is there, else not: the first write, so
    -- an error has changed nothing. Redis 6.0 has no GET here.
    local last = pcall('SET', KEYS[3], number, 'XX', 'KEEPTTL', 'GET')
    is_won = type(last) == 'string'
    if is_won then
      local fence = tonumber(last) or 0
      if fence >= token then
        -- The clock is behind an earlier grant.
        token = fence + 1
        number = string.format('%.0f', token)
        is_won = token < 9007199254740992
        call('SET', KEYS[3], is_won and number or last, 'KEEPTTL')
      end
      -- It ends seven days after the last grant, to ten minutes. A token that
      -- is ahead of the clock does not tell when that was.
      if is_won and (token ~= clock or fence < token - token % 600000000) then
        call('PEXPIRE', KEYS[3], 604800000)
      end
    elseif last and not string.find(last.err, 'syntax', 1, true) then
      return last
    end
  end
  if is_won then
    local grant = number .. ' ' .. ARGV[2]
    call('SET', KEYS[1], id, 'PX', lease)
    call('SET', KEYS[4], grant, 'PX', lease)
    -- A denied PUBLISH must not undo the grant: it is told beside the answer.
    local heard = pcall('PUBLISH', KEYS[1], 'acquired@@' .. id)
    if type(heard) == 'number' and token == clock then return token end
    local now = string.format('%.0f', math.floor(clock / 1000))
    local denied = type(heard) == 'table' and (heard.err or 'PUBLISH failed') or ''
    return { 'won', id .. '@@' .. lease, grant, now, '', '', denied }
  end
end
