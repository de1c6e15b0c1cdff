-- Extends each lock that its holder still holds under the same token.
-- KEYS: lock and token of each; ARGV: holder, token and expiry ms of each.
-- Answers: now ms, then whether it was extended and the owner word of each.
local time = redis.call('TIME')
local answer = { string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)) }
local function add(what, word)
  table.insert(answer, what)
  table.insert(answer, word)
end
for at = 1, #KEYS / 2 do
  local lock, beside = KEYS[2 * at - 1], KEYS[2 * at]
  local id, token, expiry = ARGV[3 * at - 2], ARGV[3 * at - 1], ARGV[3 * at]
  local mine = redis.pcall('HEXISTS', lock, id)
  local last = redis.pcall('GET', beside)
  if type(mine) == 'table' or type(last) == 'table' then
    -- One lock in a bad way must not end the holds of the others.
    add('error', (type(mine) == 'table' and mine.err) or last.err)
  elseif mine == 1 and (not last or last == token) then
    redis.call('PEXPIRE', lock, expiry)
    add('won', id .. '@@' .. expiry)
  else
    local holder = redis.call('HKEYS', lock)[1]
    if holder then
      add('refused', holder .. '@@' .. redis.call('PTTL', lock))
    else
      add('refused', '@@')
    end
  end
end
return answer
