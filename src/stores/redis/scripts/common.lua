-- Shared by the scripts about one mutex, and put before each of them.
-- KEYS: 1 owner, 2 queue, 3 fence, 4 grant, 5 kept. KEYS[1] names the
-- broadcast channel too. All reads come before the first write, so that an
-- error (a wrong type, no memory) has changed nothing.
local trouble = ''

-- How many heard it; nil when it must not be said. A denied PUBLISH must not
-- undo a grant that has been written, so it is told beside the answer.
local function tell(channel, message)
  local heard = redis.pcall('PUBLISH', channel, message)
  if type(heard) == 'table' then
    trouble = heard.err or 'PUBLISH failed'
    return nil
  end
  return heard
end

-- A whole number is the score of a JVM waiter, a fraction one of ours.
local function is_ours(score)
  return string.find(score, '.', 1, true) ~= nil
end

local function now_ms(time)
  return string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
end

-- Whether the owner key is a place kept for `id`, not its ownership. A JVM
-- peer with the same id has a longer lease than what was kept. The mark is
-- written last and must be read first: the clock goes on inside a script
-- (before Redis 7.2), and a millisecond that ends between the two would make
-- a stranger of the one that was told.
local function is_kept_for(id)
  if redis.call('GET', KEYS[5]) ~= id then return false end
  local kept = redis.call('PTTL', KEYS[5])
  return redis.call('PTTL', KEYS[1]) <= kept
end

-- Takes the dead from the head of the queue and tells the first that hears.
-- Answers its id and whether it is ours; nothing when nobody is there. In the
-- name of a taker it stops where the taker itself stands.
local function call_next(by, taker_score, cluster)
  while true do
    local head = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
    local id, score = head[1], head[2]
    if not id then return nil end
    if taker_score and (id == by or tonumber(taker_score) < tonumber(score)) then return nil end
    local ours = is_ours(score)
    -- A JVM winner stays in the queue: it must not be told of its own release.
    local stale = id == by and not ours
    local heard = 0
    if not stale then heard = tell(KEYS[1] .. ':' .. id, 'released@@' .. by) end
    -- Who may not speak cannot call anybody; the waiters find out by looking.
    if not heard then return nil end
    redis.call('ZREM', KEYS[2], id)
    -- In a cluster a JVM waiter may listen at another node: no proof of death.
    if heard > 0 or (cluster == '1' and not ours and not stale) then return id, ours end
  end
end

-- Keeps the mutex for the waiter that was told, and tells the next of ours
-- too, which stands by in case the first cannot come.
local function keep(id, ours, by, reserve)
  if ours then
    redis.call('SET', KEYS[1], id, 'PX', reserve)
    redis.call('DEL', KEYS[4])
  else
    -- A JVM waiter would take a kept place for ownership, so it finds the
    -- mutex free; the mark holds back only ours.
    redis.call('DEL', KEYS[1], KEYS[4])
  end
  redis.call('SET', KEYS[5], id, 'PX', reserve)
  local line = redis.call('ZRANGE', KEYS[2], 0, 15, 'WITHSCORES')
  for at = 1, #line, 2 do
    if is_ours(line[at + 1]) then
      local heard = tell(KEYS[1] .. ':' .. line[at], 'released@@' .. by)
      if heard ~= 0 then return end
      redis.call('ZREM', KEYS[2], line[at])
    end
  end
end

-- Frees the mutex in the name of `by` and calls the next.
local function free(by, reserve, cluster)
  local id, ours = call_next(by, nil, cluster)
  if id then
    keep(id, ours, by, reserve)
  else
    redis.call('DEL', KEYS[1], KEYS[4], KEYS[5])
  end
  -- Ours alone listen here: JVM peers have no word for a release to all.
  if not ours then tell(KEYS[1] .. '.freed', by) end
end

-- `<owner>@@<pttl>`, `@@` for none: a kept place is nobody's.
local function word()
  local owner = redis.call('GET', KEYS[1])
  if not owner then return '@@', '' end
  local grant = redis.call('GET', KEYS[4])
  if not grant and is_kept_for(owner) then return '@@', '' end
  return owner .. '@@' .. redis.call('PTTL', KEYS[1]), grant or ''
end
