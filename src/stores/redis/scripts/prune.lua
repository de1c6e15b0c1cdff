-- Removes the fences, and the ledgers if that is asked for, of mutexes that
-- nobody has used for a time. A fence is the microsecond of the last grant or
-- later; the next token is at least the clock's, so one that the clock has
-- passed is not needed for tokens to rise.
-- KEYS: for each 1 owner, 2 queue, 3 fence, 4 grant, 5 kept, 6 schedule
-- ARGV: 1 unused for so many microseconds, 2 schedules 0/1
-- Answers: how many fences, how many ledgers
local time = redis.call('TIME')
local oldest = tonumber(time[1]) * 1000000 + tonumber(time[2]) - tonumber(ARGV[1])
local fences, ledgers = 0, 0

-- Whether the key is there, or of a type that nobody can judge.
local function is_there(key)
  local said = redis.pcall('GET', key)
  return said ~= false
end

for at = 1, #KEYS, 6 do
  local queue = redis.pcall('ZRANGE', KEYS[at + 1], 0, 0)
  local in_use = queue.err or #queue > 0 or is_there(KEYS[at]) or is_there(KEYS[at + 3])
    or is_there(KEYS[at + 4])
  if not in_use then
    local fence = redis.pcall('GET', KEYS[at + 2])
    -- Behind the token it may name whose that was.
    local last = type(fence) == 'string' and tonumber(string.match(fence, '^%S+'))
    if last and last < oldest then
      redis.call('DEL', KEYS[at + 2])
      fences = fences + 1
    end
    if ARGV[2] == '1' then
      local ledger = redis.pcall('HMGET', KEYS[at + 5], 'due_at', 'finished_at', 'origin', 'token')
      if not ledger.err and (ledger[1] or ledger[2] or ledger[3] or ledger[4]) then
        local used = 0
        for field = 1, 3 do used = math.max(used, (tonumber(ledger[field]) or 0) * 1000) end
        -- A token is 1,024 times the microsecond of its grant.
        used = math.max(used, (tonumber(ledger[4]) or 0) / 1024)
        if used < oldest then
          redis.call('DEL', KEYS[at + 5])
          ledgers = ledgers + 1
        end
      end
    end
  end
end
return { fences, ledgers }
