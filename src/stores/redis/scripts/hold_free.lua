-- Frees a lock that its holder holds, whatever the count, and wakes whoever
-- waits. KEYS: 1 lock, 2 token.
-- ARGV: 1 holder or '' for whoever, 2 token or '' for any, 3 channel,
--       4 PUBLISH, SPUBLISH or '' to tell nobody
-- Answers as release.lua does.
local id, token, channel, publish = unpack(ARGV)
local holder = redis.call('HKEYS', KEYS[1])[1]
local last = redis.call('GET', KEYS[2])
if not holder or (id ~= '' and holder ~= id) or (token ~= '' and last and last ~= token) then
  local time = redis.call('TIME')
  local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
  local word = holder and holder .. '@@' .. redis.call('PTTL', KEYS[1]) or '@@'
  return { 'refused', word, '', now, '', '', '' }
end
redis.call('DEL', KEYS[1])
-- A denied PUBLISH must not undo the release: it is told beside the answer.
local trouble = ''
if publish ~= '' then
  local heard = redis.pcall(publish, channel, '0')
  if type(heard) == 'table' then trouble = heard.err or 'PUBLISH failed' end
end
return { 'won', '@@', '', '', '', '', trouble }
