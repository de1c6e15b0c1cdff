-- Takes a free mutex, finds a grant again, or refuses and queues.
-- ARGV: 1 id, 2 lease ms, 3 as the fence would name the grant: a token in 16
--       digits, the nonce in 32 and, if no other contender can have it, the id;
--       4, unless it is `1 1 250 0 0`: whether that token is what the bidder
--       reckons the server's clock to show, and not only the largest that it has
--       seen, 0/1; queue 0/1, reserve ms, cluster 0/1, replicas are waited for
--       0/1; and 5, if it had a place in the queue, its score
-- Answers: what, owner word, grant, now ms, score, rank, trouble, rest
local seen, nonce, is_named = string.match(words, '^(%d+) (%x+)( ?)')
local queue, reserve, cluster, waits = string.match(manner, '^%d (%d) (%d+) (%d) (%d)$')
local score = waited or ''
local time = redis.call('TIME')
local owner = redis.call('GET', KEYS[1])
local grant = grant_of(owner)
local fence = redis.call('GET', KEYS[6])
local rank = redis.call('ZRANK', KEYS[2], id)
local gone, more = {}, false
if queue == '1' then gone, more = silent(time, id) end

local function refuse(by, left, theirs, rest)
  if not theirs and by and by ~= id then
    -- Heals a JVM winner that stayed queued; ours leave as they win.
    redis.call('ZREM', KEYS[2], by)
  end
  strike(gone)
  if more then rest = rest or 'silent' end
  local place = { '', '' }
  if queue == '1' then
    if score == '' then
      -- Never a whole number: that would be a JVM waiter's.
      local micros = math.max(tonumber(time[2]), 1)
      score = string.format('%s.%06d', time[1], micros)
    end
    local joined = redis.call('ZADD', KEYS[2], 'NX', score, id)
    redis.call('ZADD', KEYS[5], now_ms(time), id)
    rank = redis.call('ZRANK', KEYS[2], id)
    if joined == 0 then
      score = redis.call('ZRANGE', KEYS[2], rank, rank, 'WITHSCORES')[2]
    end
    local most = math.max(60000, 4 * tonumber(lease))
    for _, key in ipairs({ KEYS[2], KEYS[5] }) do
      if redis.call('PTTL', key) < most then redis.call('PEXPIRE', key, most) end
    end
    place = { score, tostring(rank) }
  end
  local who = '@@'
  if by then who = by .. '@@' .. left end
  return { 'refused', who, theirs or '', now_ms(time), place[1], place[2], trouble, rest or '' }
end

if owner then
  local left = redis.call('PTTL', KEYS[1])
  if left == -1 then return { 'persisted', owner .. '@@-1', '', now_ms(time), '', '', '' } end
  local is_found = owner == id and grant and string.sub(grant, -#nonce - 1) == ' ' .. nonce
  if is_found and is_named == ' ' and redis.call('GET', KEYS[4]) == id then
    -- Kept for it by a process of an earlier version, which leaves the name of an
    -- ended grant in the fence: beside the mark none of ours owns.
    grant, is_found = nil, false
  end
  if is_found then
    -- Found again after a lost answer. WAIT is about what its own connection
    -- has written, so there must be something, behind the grant itself.
    if waits == '1' then
      left = math.max(left, 1)
      redis.call('PEXPIRE', KEYS[1], left)
      redis.call('PEXPIRE', KEYS[3], left)
    end
    return { 'won', owner .. '@@' .. left, grant, now_ms(time), '', '', '' }
  end
  if grant or owner ~= id or not is_kept_for(id) then
    return refuse(owner, left, grant)
  end
else
  local kept = redis.call('GET', KEYS[4])
  -- Who had a place and has none was told, and goes before one kept for a JVM
  -- waiter that has come and gone.
  local told = score ~= '' and not rank
  if kept and kept ~= id and not told then
    return refuse(kept, redis.call('PTTL', KEYS[4]), nil)
  end
  -- Free, with somebody else first: a lost wake-up, a JVM release, a crash.
  local mine = score
  if mine == '' then mine = '9007199254740992' end
  local first, ours, dead = call_next(id, mine, cluster)
  -- Somebody may live behind the dead: asked again, until that is known.
  if dead then return refuse(nil, 0, nil, 'dead') end
  if first then
    keep(first, ours, id, reserve)
    return refuse(first, tonumber(reserve), nil)
  end
end

-- Tokens rise: by the fence, by the clock after the fence was lost, and by
-- what the bidder has seen. `..` would write 1.79e+15.
local token = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(string.match(fence or '', '^%d+')) or 0
token = math.max(token, last + 1, tonumber(seen) + 1)
if token >= 9007199254740992 then
  return { 'exhausted', '@@', string.format('%.0f', token), now_ms(time), '', '', '' }
end
-- In 16 digits, so that texts can be compared and told apart by their length.
token = string.format('%016.0f', token)
-- Not before the first SET unless it must be: once a script has written, a
-- server without memory lets it write on.
if rank or score ~= '' then strike({ id }) end
grant = token .. ' ' .. nonce
is_named = is_named == ' '
redis.call('SET', KEYS[6], is_named and grant .. ' ' .. id or token, 'EX', 604800)
redis.call('SET', KEYS[1], id, 'PX', lease)
if is_named then
  redis.call('DEL', KEYS[3], KEYS[4])
else
  redis.call('SET', KEYS[3], grant, 'PX', lease)
  redis.call('DEL', KEYS[4])
end
tell(KEYS[1], 'acquired@@' .. id)
return { 'won', id .. '@@' .. lease, grant, now_ms(time), '', '', trouble }
