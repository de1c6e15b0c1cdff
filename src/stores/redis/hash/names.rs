//! The names that a reentrant lock has in Redis, as Redisson gives them.

use crate::error::{Error, Result};
use crate::model::MutexName;

/// The lock's own key.
pub(super) fn key(name: &MutexName) -> String {
    name.as_str().to_owned()
}

/// The last token of the lock; Redisson's fenced lock counts it up too.
pub(super) fn token(name: &MutexName) -> String {
    beside("redisson_lock_token", name)
}

/// The lock whose token this key holds.
pub(super) fn of_token(key: &[u8]) -> Option<MutexName> {
    let rest = key.strip_prefix(b"redisson_lock_token:")?;
    let tagged = rest
        .strip_prefix(b"{")
        .and_then(|rest| rest.strip_suffix(b"}"));
    let name = tagged.filter(|name| !name.contains(&b'{'));
    Some(MutexName::found(name.unwrap_or(rest)))
}

/// Both keys, as the scripts expect them.
pub(super) fn both(name: &MutexName) -> [String; 2] {
    [key(name), token(name)]
}

/// Where an unlock is told.
pub(super) fn channel(name: &MutexName) -> String {
    beside("redisson_lock__channel", name)
}

/// A name that lies in the slot of the lock's key: the braces are a hash tag,
/// unless the lock's name has one of its own.
fn beside(what: &str, name: &MutexName) -> String {
    if name.as_str().contains('{') {
        format!("{what}:{name}")
    } else {
        format!("{what}:{{{name}}}")
    }
}

/// Whether the keys of `name` share a slot: in a cluster they must.
pub(super) fn check_slots(name: &MutexName) -> Result<()> {
    use super::super::keys::slot;
    if slot(&key(name)) == slot(&token(name)) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "in a cluster the name of a reentrant lock has no brace, or a whole hash tag as in \
         \"stock:{{eu}}\": {name:?} would lie in two slots"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> MutexName {
        MutexName::new(text).unwrap()
    }

    #[test]
    fn names_are_those_of_the_protocol() {
        assert_eq!(key(&name("stock")), "stock");
        assert_eq!(token(&name("stock")), "redisson_lock_token:{stock}");
        assert_eq!(channel(&name("stock")), "redisson_lock__channel:{stock}");
        for text in ["stock", "stock:{eu}", "{a}b", "a}"] {
            let key = token(&name(text));
            assert_eq!(of_token(key.as_bytes()), Some(name(text)), "{key}");
        }
        assert_eq!(
            channel(&name("stock:{eu}")),
            "redisson_lock__channel:stock:{eu}"
        );
    }

    #[test]
    fn a_name_with_half_a_tag_is_none_for_a_cluster() {
        for fine in ["stock", "stock:{eu}", "{a}b"] {
            check_slots(&name(fine)).unwrap();
        }
        for scattered in ["a{b", "a{}b"] {
            let error = check_slots(&name(scattered)).unwrap_err().to_string();
            assert!(error.contains("hash tag"), "{error}");
        }
    }
}
