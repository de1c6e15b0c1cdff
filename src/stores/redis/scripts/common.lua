-- Shared by the scripts about one mutex, and put before each of them.
-- KEYS: 1 owner, 2 queue, 3 grant, 4 kept, 5 seen, 6 fence. KEYS[1] names the
-- broadcast channel too. What was written before an error stays: so every key
-- that is read or changed in part is read before the first write and before
-- anybody is told anything, and an error (a wrong type, no memory) has changed
-- nothing.
local trouble = ''

-- How many dead one call clears away: nobody else is served meanwhile. What
-- is left is said beside the answer, and cleared away by further calls.
local MOST = 16

-- Ours look every 2 s. Who has not looked for so long is dead, or stopped: one
-- that goes on brings its old score, and has its old place again.
local SILENT_MS = 10000

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

-- Fails if there can be no queue: before anybody is struck out of it.
local function check_queue()
  redis.call('ZRANK', KEYS[2], '')
  redis.call('ZRANK', KEYS[5], '')
end

-- Takes `ids` out of the queue, which has been looked at.
local function strike(ids)
  if #ids == 0 then return end
  redis.call('ZREM', KEYS[5], unpack(ids))
  redis.call('ZREM', KEYS[2], unpack(ids))
end

-- Those of ours that have fallen silent, but not `id`, whose turn it is to
-- speak. JVM waiters do not say that they live, and are never among them.
local function silent(time, id)
  local limit = tonumber(time[1]) * 1000 - SILENT_MS
  local line = redis.call('ZRANGE', KEYS[5], 0, MOST - 1, 'WITHSCORES')
  local ids = {}
  for at = 1, #line, 2 do
    if tonumber(line[at + 1]) >= limit then break end
    if line[at] ~= id then table.insert(ids, line[at]) end
  end
  return ids, #line == 2 * MOST and #ids >= MOST - 1
end

-- The grant and the id of the owner that the fence names, if it names one.
local function named()
  local fence = redis.pcall('GET', KEYS[6])
  if type(fence) == 'string' then return string.match(fence, '^(%d+ %x+) (.+)$') end
end

-- The grant by which `owner` is one of ours: in the fence, where that names it,
-- or in a key of its own. A JVM peer has none.
local function grant_of(owner)
  local grant, id = named()
  if id == owner then return grant end
  return redis.call('GET', KEYS[3])
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
  if redis.call('GET', KEYS[4]) ~= id then return false end
  local kept = redis.call('PTTL', KEYS[4])
  return redis.call('PTTL', KEYS[1]) <= kept
end

-- Takes the dead from the head of the queue and tells the first that hears,
-- which is taken from it too. Answers its id and whether it is ours; nothing when nobody is there. In the
-- name of a taker it stops where the taker itself stands. The third answer
-- says that so many were dead that it is not known yet who is next.
local function call_next(by, taker_score, cluster)
  local line = redis.call('ZRANGE', KEYS[2], 0, MOST, 'WITHSCORES')
  if #line > 0 then check_queue() end
  local dead, found, found_ours, more = {}, nil, nil, nil
  for at = 1, #line, 2 do
    local id, score = line[at], line[at + 1]
    if taker_score and (id == by or tonumber(taker_score) < tonumber(score)) then break end
    if #dead == MOST then
      more = true
      break
    end
    local ours = is_ours(score)
    -- A JVM winner stays in the queue: it must not be told of its own release.
    local stale = id == by and not ours
    local heard = 0
    if not stale then heard = tell(KEYS[1] .. ':' .. id, 'released@@' .. by) end
    -- Who may not speak cannot call anybody; the waiters find out by looking.
    if not heard then break end
    table.insert(dead, id)
    -- In a cluster a JVM waiter may listen at another node: no proof of death.
    if heard > 0 or (cluster == '1' and not ours and not stale) then
      found, found_ours = id, ours
      break
    end
  end
  strike(dead)
  return found, found_ours, more
end

-- Keeps the mutex for the waiter that was told, and tells the next of ours
-- too, which stands by in case the first cannot come.
local function keep(id, ours, by, reserve)
  if ours then
    -- Named by the fence, from an earlier grant, it would seem to own.
    local grant, last = named()
    if last == id then
      redis.call('SET', KEYS[6], string.match(grant, '^%d+'), 'EX', 604800)
    end
    redis.call('SET', KEYS[1], id, 'PX', reserve)
    redis.call('DEL', KEYS[3])
  else
    -- A JVM waiter would take a kept place for ownership, so it finds the
    -- mutex free; the mark holds back only ours.
    redis.call('DEL', KEYS[1], KEYS[3])
  end
  redis.call('SET', KEYS[4], id, 'PX', reserve)
  local line = redis.call('ZRANGE', KEYS[2], 0, MOST - 1, 'WITHSCORES')
  for at = 1, #line, 2 do
    if is_ours(line[at + 1]) then
      local heard = tell(KEYS[1] .. ':' .. line[at], 'released@@' .. by)
      if heard ~= 0 then return end
      strike({ line[at] })
    end
  end
end

-- Frees the mutex in the name of `by` and calls the next. Answers 'dead' when
-- the next is still to be found behind dead ones.
local function free(by, reserve, cluster)
  local id, ours, more = call_next(by, nil, cluster)
  if id then
    keep(id, ours, by, reserve)
  else
    redis.call('DEL', KEYS[1], KEYS[3], KEYS[4])
  end
  -- Ours alone listen here: JVM peers have no word for a release to all.
  if not ours then tell(KEYS[1] .. '.freed', by) end
  return more and 'dead' or ''
end

-- `<owner>@@<pttl>`, `@@` for none: a kept place is nobody's.
local function word()
  local owner = redis.call('GET', KEYS[1])
  if not owner then return '@@', '' end
  local grant = grant_of(owner)
  if not grant and is_kept_for(owner) then return '@@', '' end
  return owner .. '@@' .. redis.call('PTTL', KEYS[1]), grant or ''
end
