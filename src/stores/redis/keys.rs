//! The names of a mutex's keys and channels.

use std::io::Write as _;

use redis::{Cmd, RedisWrite as _};

use super::arguments::fence_names;
use crate::backend::Held;
use crate::model::{ContenderId, MutexName};

/// The keys of one mutex. The braces are a hash tag: in a cluster all of them
/// lie in one slot.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Who owns; also the channel that says who has acquired.
    pub(super) owner: String,
}

/// How many keys the scripts about one mutex expect.
pub(super) const KEYS: usize = 6;

/// How those after the owner's end.
const ENDS: [&str; KEYS - 1] = [":contender", ":grant", ":kept", ":seen", ":fence"];

/// What all names of this store begin with, unless the URL says otherwise.
pub(super) const USUAL_PREFIX: &str = "simba:";

impl Keys {
    pub(super) fn new(prefix: &str, name: &MutexName) -> Self {
        Self {
            owner: [prefix, "{", name.as_str(), "}"].concat(),
        }
    }

    pub(super) fn queue(&self) -> String {
        format!("{}:contender", self.owner)
    }

    pub(super) fn fence(&self) -> String {
        format!("{}:fence", self.owner)
    }

    pub(super) fn grant(&self) -> String {
        format!("{}:grant", self.owner)
    }

    /// What has this grant: a key of its own, or the fence, which names the owner.
    pub(super) fn of_grant(&self, held: &Held) -> String {
        if fence_names(held.unique_id, &held.terms) {
            self.fence()
        } else {
            self.grant()
        }
    }

    /// Whom a freed mutex is kept for. It tells a kept place from the
    /// ownership of a JVM peer with the same id.
    pub(super) fn kept(&self) -> String {
        format!("{}:kept", self.owner)
    }

    /// When each waiter of ours last looked: who has not for long is dead.
    pub(super) fn seen(&self) -> String {
        format!("{}:seen", self.owner)
    }

    pub(super) fn schedule(&self) -> String {
        format!("{}:schedule", self.owner)
    }

    /// Says [all](Self::all) to `call`, without making each.
    pub(super) fn say(&self, call: &mut Cmd) {
        call.arg(&self.owner);
        for end in &ENDS {
            let mut key = call.writer_for_next_arg();
            // It is memory that is written to.
            let _ = key.write_all(self.owner.as_bytes());
            let _ = key.write_all(end.as_bytes());
        }
    }

    /// In the order that the scripts about one mutex expect.
    pub(super) fn all(&self) -> [String; KEYS] {
        [
            self.owner.clone(),
            self.queue(),
            self.grant(),
            self.kept(),
            self.seen(),
            self.fence(),
        ]
    }

    /// Where `waiter` is told that it is next.
    pub(super) fn turn_channel(&self, waiter: &ContenderId) -> String {
        format!("{}:{waiter}", self.owner)
    }

    /// Where acquisitions are told to all.
    pub(super) fn broadcast_channel(&self) -> String {
        self.owner.clone()
    }

    /// Where ours hear that a mutex has become free. No peer's channel can have
    /// this name: theirs end in `}` or go on with a colon.
    pub(super) fn freed_channel(&self) -> String {
        format!("{}.freed", self.owner)
    }
}

/// The mutex of `key`, if that is one of the keys of a mutex in use.
pub(super) fn name_in_use(prefix: &[u8], key: &[u8]) -> Option<MutexName> {
    let ends = ["}", "}:contender", "}:grant", "}:kept", "}:seen"];
    name_of(prefix, key, &ends)
}

/// The mutex of `key`, if that is one of the keys that stay when it is free.
pub(super) fn name_at_rest(prefix: &[u8], key: &[u8]) -> Option<MutexName> {
    let name = name_of(prefix, key, &["}:fence", "}:schedule"])?;
    // Of another it cannot be said where its keys lie in a cluster.
    name.fault().is_none().then_some(name)
}

/// The schedule of `key`, if that is a ledger's.
pub(super) fn name_of_ledger(prefix: &[u8], key: &[u8]) -> Option<MutexName> {
    name_of(prefix, key, &["}:schedule"])
}

fn name_of(prefix: &[u8], key: &[u8], ends: &[&str]) -> Option<MutexName> {
    let inner = key.strip_prefix(prefix)?.strip_prefix(b"{")?;
    let mut names = ends
        .iter()
        .filter_map(|end| inner.strip_suffix(end.as_bytes()));
    names.next().map(MutexName::found)
}

/// The pattern of all keys of the store, for SCAN.
pub(super) fn pattern(prefix: &str) -> String {
    literally(prefix) + "{*"
}

/// A pattern that fits `text` alone.
pub(super) fn literally(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// The cluster slot of `key`.
pub(super) fn slot(key: &str) -> u16 {
    let tag = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    let hashed = tag.map(|(tag, _)| tag).filter(|tag| !tag.is_empty());
    crc16(hashed.unwrap_or(key).as_bytes()) % 16_384
}

/// CRC-16/XMODEM, as the cluster specification has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_protocol() {
        let keys = Keys::new(USUAL_PREFIX, &MutexName::new("m").unwrap());
        assert_eq!(keys.owner, "simba:{m}");
        assert_eq!(keys.queue(), "simba:{m}:contender");
        assert_eq!(keys.fence(), "simba:{m}:fence");
        assert_eq!(keys.grant(), "simba:{m}:grant");
        assert_eq!(keys.seen(), "simba:{m}:seen");
        assert_eq!(keys.schedule(), "simba:{m}:schedule");
        let waiter = ContenderId::new("0:1@h").unwrap();
        assert_eq!(keys.turn_channel(&waiter), "simba:{m}:0:1@h");
        assert_eq!(keys.broadcast_channel(), "simba:{m}");
    }

    #[test]
    fn a_name_is_found_in_its_keys_and_in_no_other() {
        for name in ["m", "a{b}", "{", "a}:contender{b", "日本", "a}b"] {
            let name = MutexName::new(name).unwrap();
            let keys = Keys::new("app:", &name);
            let (used, at_rest) = (
                |key: &str| name_in_use(b"app:", key.as_bytes()),
                |key: &str| name_at_rest(b"app:", key.as_bytes()),
            );
            let in_use = [
                keys.owner.clone(),
                keys.queue(),
                keys.grant(),
                keys.kept(),
                keys.seen(),
            ];
            for key in in_use {
                assert_eq!(used(&key).as_ref(), Some(&name));
                assert_eq!(at_rest(&key), None);
            }
            for key in [keys.fence(), keys.schedule()] {
                assert_eq!(used(&key), None);
                assert_eq!(at_rest(&key).as_ref(), Some(&name));
            }
            assert_eq!(name_in_use(b"simba:", keys.owner.as_bytes()), None);
        }
        assert!(name_in_use(b"app:", b"app:{}").unwrap().fault().is_some());
        assert_eq!(name_in_use(b"app:", b"app:{"), None);
        assert_eq!(name_at_rest(b"app:", b"app:{ }:fence"), None);
    }

    #[test]
    fn slots_are_the_clusters() {
        // As answered by CLUSTER KEYSLOT.
        assert_eq!(slot("foo"), 12_182);
        assert_eq!(slot("123456789"), 12_739);
        assert_eq!(slot("{user1000}.following"), slot("user1000"));
        for name in ["m", "a{b}", "{", "{}", "a}b"] {
            let keys = Keys::new(USUAL_PREFIX, &MutexName::new(name).unwrap());
            assert!(keys.all().iter().all(|key| slot(key) == slot(&keys.owner)));
        }
    }

    #[test]
    fn a_pattern_means_its_prefix_literally() {
        assert_eq!(pattern("simba:"), "simba:{*");
        assert_eq!(pattern("a*[b]?:"), "a\\*\\[b\\]\\?:{*");
    }
}
