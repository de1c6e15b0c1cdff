//! The states that a stranger may bring the keys of a mutex into.

/// What is done to one key, as Lua: `k` is the key.
pub(super) struct Damage {
    /// What the key ends with.
    pub(super) end: &'static str,
    pub(super) name: String,
    pub(super) lua: String,
    pub(super) sort: Sort,
}

/// What sort of damage it is, which says what is tried on it.
#[derive(Clone, Copy)]
pub(super) enum Sort {
    /// Missing, a list, without an end, …
    Whole,
    /// Another of the other types, or other members.
    Type,
    /// The right type, with another text.
    Text,
    /// The same, for ever.
    Lasting,
    /// Of a ledger.
    Ledger,
    /// Of one field of a ledger.
    Field,
}

/// What the keys of a mutex end with, in the order of the scripts, and the
/// ledger's.
pub(super) const ENDS: [&str; 7] = [
    "",
    ":contender",
    ":fence",
    ":grant",
    ":kept",
    ":seen",
    ":schedule",
];

/// Types, each with how it is written. None of ours is a list, a set or a
/// stream.
const TYPES: [(&str, &str); 6] = [
    ("a string", "redis.call('SET', k, 'x')"),
    ("a list", "redis.call('RPUSH', k, 'x')"),
    ("a set", "redis.call('SADD', k, 'x')"),
    ("a hash", "redis.call('HSET', k, 'x', 'y')"),
    ("a sorted set", "redis.call('ZADD', k, 1, 'x')"),
    ("a stream", "redis.call('XADD', k, '*', 'x', 'y')"),
];

/// What may stand in a key that holds a text, as Lua.
const TEXTS: [(&str, &str); 16] = [
    ("nothing", "''"),
    ("a blank", "' '"),
    ("a control character", r"'a\1b'"),
    ("no UTF-8", r"'\255\254'"),
    ("a zero byte", r"'\0'"),
    ("two parts", "'a@@b'"),
    ("a long text", "string.rep('x', 100000)"),
    ("less than zero", "'-5'"),
    ("zero", "'0'"),
    ("the last token", "'9007199254740991'"),
    ("far too much", "'99999999999999999999'"),
    ("no number", "'nan'"),
    ("no end", "'inf'"),
    ("a fraction", "'1.5'"),
    ("another's", "'0:1@elsewhere'"),
    ("half a grant", "'1700000000000000'"),
];

/// What may be in a sorted set.
const MEMBERS: [(&str, &str); 8] = [
    ("a nameless member", "redis.call('ZADD', k, 1.5, '')"),
    ("a member of no text", r"redis.call('ZADD', k, 1.5, '\255')"),
    ("a member at no end", "redis.call('ZADD', k, 'inf', 'z')"),
    ("a member before all", "redis.call('ZADD', k, '-inf', 'z')"),
    ("a member below zero", "redis.call('ZADD', k, -1.5, 'z')"),
    (
        "a huge member",
        "redis.call('ZADD', k, 1.5, string.rep('x', 100000))",
    ),
    (
        "many members",
        "for i = 1, 40 do redis.call('ZADD', k, i + 0.5, 'm' .. i) end",
    ),
    (
        "many others",
        "for i = 1, 40 do redis.call('ZADD', k, i, 'm' .. i) end",
    ),
];

/// The fields of a ledger.
const FIELDS: [&str; 8] = [
    "plan",
    "origin",
    "last_tick",
    "due_at",
    "token",
    "state",
    "finished_at",
    "run",
];

pub(super) fn all() -> Vec<Damage> {
    let mut all = Vec::new();
    for end in ENDS {
        let is_ledger = end == ":schedule";
        let mut add = |sort, name: &str, lua: String| {
            let sort = match sort {
                Sort::Field => sort,
                _ if is_ledger => Sort::Ledger,
                sort => sort,
            };
            all.push(Damage {
                end,
                name: name.to_owned(),
                lua,
                sort,
            });
        };
        let own = match end {
            ":contender" | ":seen" => "a sorted set",
            ":schedule" => "a hash",
            _ => "a string",
        };
        for (name, lua) in TYPES.iter().filter(|(name, _)| *name != own) {
            let sort = if *name == "a list" {
                Sort::Whole
            } else {
                Sort::Type
            };
            add(sort, name, format!("redis.call('DEL', k) {lua}"));
        }
        add(Sort::Whole, "missing", "redis.call('DEL', k)".into());
        add(
            Sort::Whole,
            "without an end",
            "redis.call('PERSIST', k)".into(),
        );
        add(
            Sort::Whole,
            "at its end",
            "redis.call('PEXPIRE', k, 1)".into(),
        );
        if own == "a string" {
            for (name, text) in TEXTS {
                add(
                    Sort::Text,
                    name,
                    format!("redis.call('SET', k, {text}, 'PX', 600000)"),
                );
            }
            for (name, text) in TEXTS.iter().step_by(3) {
                add(Sort::Lasting, name, format!("redis.call('SET', k, {text})"));
            }
        }
        if own == "a sorted set" {
            for (name, lua) in MEMBERS {
                add(Sort::Type, name, lua.into());
            }
        }
        if is_ledger {
            for field in FIELDS {
                let name = format!("without {field}");
                add(
                    Sort::Field,
                    &name,
                    format!("redis.call('HDEL', k, '{field}')"),
                );
                for (name, text) in TEXTS.iter().step_by(2) {
                    let lua = format!("redis.call('HSET', k, '{field}', {text})");
                    add(Sort::Field, &format!("{name} as {field}"), lua);
                }
            }
        }
    }
    all
}

/// Tells all that is under the keys, however it is typed, in one text.
pub(super) const SNAPSHOT: &str = r"
local told = {}
for _, k in ipairs(KEYS) do
  local kind = redis.call('TYPE', k).ok
  local said = ''
  if kind == 'string' then said = { redis.call('GET', k) }
  elseif kind == 'list' then said = redis.call('LRANGE', k, 0, -1)
  elseif kind == 'set' then said = redis.call('SMEMBERS', k)
  elseif kind == 'hash' then
    said = {}
    for _, field in ipairs(redis.call('HKEYS', k)) do
      table.insert(said, field .. '=' .. redis.call('HGET', k, field))
    end
    table.sort(said)
  elseif kind == 'zset' then said = redis.call('ZRANGE', k, 0, -1, 'WITHSCORES')
  else said = {} end
  said = table.concat(said, ' ')
  if #said > 200 then said = redis.sha1hex(said) end
  local ttl = redis.call('PTTL', k)
  if ttl > 0 then ttl = 'ends' end
  table.insert(told, k .. ' ' .. kind .. ' ' .. ttl .. ' ' .. said)
end
return table.concat(told, '\n')";
