-- Claims a tick for the owner of a grant. KEYS: 1 owner, 2 what has the grant: its
-- own key, or the fence, where the id stands behind it; 3 schedule
-- ARGV: 1 id, 2 grant, 3 token, 4 plan, 5 origin, 6 tick, 7 due at,
--       8 again 0/1, 9 replace the plan 0/1, 10 the state it leaves: claimed,
--       or planned to write the plan alone, 11 the note about the run,
--       12 whether replicas confirm it 0/1
-- Answers: what, then the ledger when that is what refuses.
local id, grant, token, plan, origin, tick, due_at, again, replace, state, run, waits = unpack(ARGV)

-- Ticks and tokens pass 2^53, where numbers lose digits: compared as text.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

if redis.call('GET', KEYS[1]) ~= id or redis.call('GET', KEYS[2]) ~= grant then
  return { 'lost', {} }
end
local flat = redis.call('HGETALL', KEYS[3])
if #flat > 0 then
  local entry = {}
  for at = 1, #flat, 2 do entry[flat[at]] = flat[at + 1] end
  local last, by = entry.last_tick or '0', entry.token or '0'
  local new = less(last, tick) or (last == tick and entry.state == 'planned')
  local fits = new and not less(token, by)
  local unfinished = again == '1' and state == 'claimed' and last == tick
    and entry.state == 'claimed' and less(by, token)
  local right_plan = replace == '1'
  if entry.plan == plan then right_plan = state ~= 'planned' end
  if not right_plan or not (fits or unfinished) then
    -- Its own, found again after a lost answer: written again, for replicas to confirm.
    if waits == '1' and last == tick and by == token then
      redis.call('HSET', KEYS[3], 'token', token)
    end
    return { 'refused', flat }
  end
end
redis.call('HSET', KEYS[3], 'plan', plan, 'origin', origin, 'last_tick', tick, 'due_at', due_at,
  'token', token, 'state', state, 'finished_at', '', 'run', run)
return { 'claimed', {} }
