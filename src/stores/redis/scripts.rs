//! The scripts, by their files.

use std::sync::LazyLock;

use redis::{Cmd, Script};

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

/// The text of a script, alone or behind the part that is about one mutex.
macro_rules! text {
    ($file:literal) => {
        include_str!(concat!("scripts/", $file))
    };
    (common $file:literal) => {
        concat!(text!("common.lua"), text!($file))
    };
}

/// In the order of [`Lua`].
const TEXTS: [&str; COUNT] = [
    text!(common "take.lua"),
    text!("renew.lua"),
    text!(common "release.lua"),
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

    /// A call with `keys`, of which there is at least one.
    pub(super) fn call(self, keys: &[String], arguments: &[&str]) -> Call {
        Call {
            lua: self,
            key: keys[0].clone(),
            keys: keys.to_vec(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A call of a script, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Call {
    lua: Lua,
    /// The key that says where it goes in a cluster.
    pub(super) key: String,
    keys: Vec<String>,
    arguments: Vec<String>,
}

impl Call {
    /// By the script's hash, as a rule.
    pub(super) fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", &HASHES[self.lua as usize])
    }

    /// By its text, for a server that has forgotten it.
    pub(super) fn by_text(&self) -> Cmd {
        self.command("EVAL", TEXTS[self.lua as usize])
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        command.arg(&self.keys).arg(&self.arguments);
        command
    }
}
