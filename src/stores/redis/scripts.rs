//! The scripts, by their files.

use std::sync::LazyLock;

use redis::{Arg, Cmd, Script};

use super::keys::{KEYS, Keys};

/// A script of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lua {
    Take,
    Renew,
    Release,
    Leave,
    Look,
    Survey,
    Prune,
    Revoke,
    Next,
    Ledger,
    Ledgers,
    Claim,
    Finish,
    HoldTake,
    HoldKeep,
    HoldFree,
    HoldCount,
    HoldLook,
    HoldSurvey,
}

/// How many there are.
const COUNT: usize = Lua::HoldSurvey as usize + 1;

/// The text of a script, alone or behind the part that is about one mutex. What
/// can be done without that part stands before it, and costs no more.
macro_rules! text {
    ($file:literal) => {
        include_str!(concat!("scripts/", $file))
    };
    (common $file:literal) => {
        concat!(text!("common.lua"), text!($file))
    };
    ($first:literal, common $file:literal) => {
        concat!(text!($first), text!(common $file))
    };
}

/// In the order of [`Lua`].
const TEXTS: [&str; COUNT] = [
    text!("take_free.lua", common "take.lua"),
    text!("renew.lua"),
    text!("release_free.lua", common "release.lua"),
    text!(common "leave.lua"),
    text!(common "look.lua"),
    text!("survey.lua"),
    text!("prune.lua"),
    text!(common "revoke.lua"),
    text!(common "next.lua"),
    text!("ledger.lua"),
    text!("ledgers.lua"),
    text!("claim.lua"),
    text!("finish.lua"),
    text!("hold_take.lua"),
    text!("hold_keep.lua"),
    text!("hold_free.lua"),
    text!("hold_count.lua"),
    text!("hold_look.lua"),
    text!("hold_survey.lua"),
];

static HASHES: LazyLock<[String; COUNT]> =
    LazyLock::new(|| TEXTS.map(|text| Script::new(text).get_hash().to_owned()));

impl Lua {
    /// The commands that make a server know every script.
    pub(super) fn load_all() -> impl Iterator<Item = Cmd> {
        TEXTS.iter().map(|text| {
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(text);
            load
        })
    }

    /// A call about one mutex.
    pub(super) fn about(self, keys: Keys, arguments: &[&str]) -> Call {
        self.saying(keys, |call| {
            call.arg(arguments);
        })
    }

    /// The same, whose arguments `say` writes where they are sent from.
    pub(super) fn saying(self, keys: Keys, say: impl FnOnce(&mut Cmd)) -> Call {
        // Beside what the keys begin with: the hash, what they end with, and arguments.
        let length = KEYS * keys.owner.len() + 300;
        let mut by_hash = Cmd::with_capacity(3 + KEYS + 5, length);
        by_hash.arg("EVALSHA").arg(&HASHES[self as usize]).arg(KEYS);
        keys.say(&mut by_hash);
        say(&mut by_hash);
        Call {
            lua: self,
            key: keys.owner,
            by_hash,
        }
    }

    /// A call with `keys`, of which there is at least one.
    pub(super) fn call(self, keys: &[String], arguments: &[&str]) -> Call {
        let length = |sum: usize, text: &str| sum + text.len();
        let length = keys.iter().map(String::as_str).fold(64, length)
            + arguments.iter().copied().fold(0, length);
        let mut by_hash = Cmd::with_capacity(3 + keys.len() + arguments.len(), length);
        by_hash.arg("EVALSHA").arg(&HASHES[self as usize]);
        by_hash.arg(keys.len()).arg(keys).arg(arguments);
        Call {
            lua: self,
            key: keys[0].clone(),
            by_hash,
        }
    }
}

/// A call of a script, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Call {
    lua: Lua,
    /// The key that says where it goes in a cluster.
    pub(super) key: String,
    /// By the script's hash, as a rule.
    pub(super) by_hash: Cmd,
}

impl Call {
    /// By its text, for a server that has forgotten it.
    pub(super) fn by_text(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(TEXTS[self.lua as usize]);
        for argument in self.by_hash.args_iter().skip(2) {
            if let Arg::Simple(bytes) = argument {
                command.arg(bytes);
            }
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MutexName;

    fn words(command: &Cmd) -> Vec<String> {
        let words = command.args_iter().map(|word| match word {
            Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => panic!("a cursor"),
        });
        words.collect()
    }

    #[test]
    fn a_call_about_a_mutex_is_one_with_its_keys() {
        let keys = Keys::new("app:", &MutexName::new("m").unwrap());
        let (about, with_keys) = (
            Lua::Take.about(keys.clone(), &["a", ""]),
            Lua::Take.call(&keys.all(), &["a", ""]),
        );
        assert_eq!(words(&about.by_hash), words(&with_keys.by_hash));
        assert_eq!(about.key, with_keys.key);
    }

    #[test]
    fn a_call_by_text_has_the_same_keys_and_arguments() {
        let call = Lua::Look.call(&["k".into(), "l".into()], &["", "a b", "ä"]);
        let by_hash = words(&call.by_hash);
        assert_eq!(by_hash[0], "EVALSHA");
        assert_eq!(by_hash[2..], ["2", "k", "l", "", "a b", "ä"]);
        let by_text = words(&call.by_text());
        assert_eq!(by_text[..2], ["EVAL", TEXTS[Lua::Look as usize]]);
        assert_eq!(by_text[2..], by_hash[2..]);
    }
}
