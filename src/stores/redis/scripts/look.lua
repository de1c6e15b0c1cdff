-- Who owns. Answers: owner word, grant, now ms
local time = redis.call('TIME')
local owner, grant = word()
return { owner, grant, now_ms(time) }
