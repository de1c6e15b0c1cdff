-- Takes a free lock for a holder, or finds its hold again.
-- KEYS: 1 lock, 2 token.
-- ARGV: 1 holder, 2 expiry ms, 3 largest token seen, 4 whether nobody else
--       has this id 0/1, 5 tell the uptime 0/1, 6 the token never ends 0/1,
--       7 replicas are waited for 0/1
-- Answers as take.lua does, with the uptime in seconds for a score. Reads come
-- before writes, so that an error (a wrong type, no memory) has changed
-- nothing.
local id, expiry, seen, unique, aged, lasting, waits = unpack(ARGV)
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local left = redis.call('PTTL', KEYS[1])
local mine = redis.call('HEXISTS', KEYS[1], id)
local last = redis.call('GET', KEYS[2])
local up = ''
if aged == '1' then
  -- A server whose clock was set back behind its start says less than zero: it
  -- counts as new.
  up = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)') or '0'
end

local function answer(what, owner, token)
  return { what, owner, token, now, up, '', '' }
end

if left ~= -2 then
  local holder = redis.call('HKEYS', KEYS[1])[1]
  if left == -1 then return answer('persisted', holder .. '@@-1', '') end
  -- Another bid with the same id is another holder.
  if mine == 0 or unique == '0' then return answer('refused', holder .. '@@' .. left, '') end
  -- Asked again after a lost answer: what remains, not a new lease. Of an
  -- earlier bid whose release is on its way, the old token is none.
  if last and (tonumber(last) or 0) > tonumber(seen) then
    -- WAIT is about what its own connection has written.
    if waits == '1' then redis.call('PEXPIRE', KEYS[1], math.max(left, 1)) end
    return answer('won', id .. '@@' .. left, last .. ' held')
  end
end

local token = tonumber(time[1]) * 1000000 + tonumber(time[2])
token = math.max(token, (tonumber(last) or 0) + 1, tonumber(seen) + 1)
if token >= 9007199254740992 then
  return answer('exhausted', '@@', string.format('%.0f', token))
end
token = string.format('%.0f', token)
if lasting == '1' or (last and redis.call('TTL', KEYS[2]) == -1) then
  -- Redisson's fenced lock counts it up, and would begin at 1 again.
  redis.call('SET', KEYS[2], token)
else
  redis.call('SET', KEYS[2], token, 'EX', 604800)
end
if mine == 0 then
  -- The count is written whole: adding to it after a lost answer would count
  -- twice.
  redis.call('HSET', KEYS[1], id, '1')
  redis.call('PEXPIRE', KEYS[1], expiry)
  left = expiry
end
return answer('won', id .. '@@' .. left, token .. ' held')
