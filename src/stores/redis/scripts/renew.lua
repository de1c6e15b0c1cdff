-- Extends each grant that is still there. No common part: it is about many.
-- KEYS: of each the owner and what has the grant: its own key, or the fence, where
-- the id stands behind it; ARGV: id, grant and lease ms of each.
-- Answers: now ms, then owner word and grant of each; an extended one has its
-- own grant and the whole lease.
local time = redis.call('TIME')
local answer = { string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)) }
-- How a token of a day ago begins, and one ahead of the clock.
local old = string.format('%.0f', tonumber(time[1]) - 86400)
local ahead = string.format('%.0f', tonumber(time[1]) + 60)
for at = 1, #KEYS / 2 do
  local owner_key, grant_key = KEYS[2 * at - 1], KEYS[2 * at]
  local id, grant, lease = ARGV[3 * at - 2], ARGV[3 * at - 1], ARGV[3 * at]
  local owner = redis.pcall('GET', owner_key)
  local held = redis.pcall('GET', grant_key)
  if type(owner) == 'table' or type(held) == 'table' then
    -- One mutex in a bad way must not end the tenure of the others.
    table.insert(answer, 'error')
    table.insert(answer, (type(owner) == 'table' and owner.err) or held.err)
  elseif owner == id and held == grant then
    redis.call('PEXPIRE', owner_key, lease)
    if #grant <= 49 then
      redis.call('PEXPIRE', grant_key, lease)
    elseif grant < old or grant > ahead then
      -- A fence lives on for a week: longer than what it names, if that goes on.
      redis.call('PEXPIRE', grant_key, 604800000)
    end
    table.insert(answer, owner .. '@@' .. lease)
    table.insert(answer, grant)
  elseif owner and held then
    table.insert(answer, owner .. '@@' .. redis.call('PTTL', owner_key))
    table.insert(answer, held)
  elseif owner then
    table.insert(answer, owner .. '@@' .. redis.call('PTTL', owner_key))
    table.insert(answer, '')
  else
    table.insert(answer, '@@')
    table.insert(answer, '')
  end
end
return answer
