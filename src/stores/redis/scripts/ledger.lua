-- Reads the ledger of a schedule. KEYS: 1 schedule
return redis.call('HGETALL', KEYS[1])
