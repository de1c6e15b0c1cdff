//! The texts that JVM peers and ours exchange: events on channels, and the
//! word on an owner.

use crate::backend::Nonce;
use crate::model::{ContenderId, Purpose};

/// What stands between the parts of a text; no id contains it.
const MARK: &str = "@@";

/// A message on a channel: `acquired@@<id>` or `released@@<id>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnerEvent {
    /// This contender has acquired the mutex.
    Acquired(ContenderId),
    /// This contender has released it; the waiter that hears it is next.
    Released(ContenderId),
}

impl OwnerEvent {
    /// The event in `payload`; `None` when it is none. Any client may
    /// publish anything, so that is no error.
    pub(super) fn parse(payload: &[u8]) -> Option<Self> {
        let (event, id) = std::str::from_utf8(payload).ok()?.split_once(MARK)?;
        let id = ContenderId::new(id).ok()?;
        match event {
            "acquired" => Some(Self::Acquired(id)),
            "released" => Some(Self::Released(id)),
            _ => None,
        }
    }
}

/// Who owns and for how many milliseconds more: `<id>@@<pttl>`, `@@` for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnerWord {
    pub(super) owner: Option<ContenderId>,
    /// -1 for a key that never expires, as Redis has it.
    pub(super) left: i64,
}

impl OwnerWord {
    pub(super) const NONE: Self = Self {
        owner: None,
        left: 0,
    };

    /// The word in `text`; `None` when it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == MARK {
            return Some(Self::NONE);
        }
        let (id, left) = text.rsplit_once(MARK)?;
        Some(Self {
            owner: Some(ContenderId::new(id).ok()?),
            left: left.parse().ok()?,
        })
    }
}

/// The number of a grant, and whose it is: `<token> <nonce>`.
pub(super) fn grant_number(grant: &str) -> Option<u64> {
    let (number, _nonce) = grant.split_once(' ')?;
    number.parse().ok()
}

/// What its bid was for, if the grant says that.
pub(super) fn grant_purpose(grant: &str) -> Option<Purpose> {
    let (_number, nonce) = grant.split_once(' ')?;
    Nonce::parse(nonce)?.purpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ContenderId {
        ContenderId::new(text).unwrap()
    }

    #[test]
    fn events_are_read_as_peers_write_them() {
        let event = OwnerEvent::parse(b"acquired@@0:12@10.0.0.1");
        assert_eq!(event, Some(OwnerEvent::Acquired(id("0:12@10.0.0.1"))));
        let event = OwnerEvent::parse("released@@wörker".as_bytes());
        assert_eq!(event, Some(OwnerEvent::Released(id("wörker"))));
    }

    #[test]
    fn what_is_no_event_is_none() {
        let long = format!("acquired@@{}", "x".repeat(10_000));
        for text in [
            "",
            "@@",
            "acquired",
            "acquired@@",
            "ACQUIRED@@a",
            "acquired@@ ",
            "acquired@a",
            "acquired@@a@@b",
            "acquired@@a\n",
            "seized@@a",
            "@@a",
            &long,
        ] {
            assert_eq!(OwnerEvent::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(OwnerEvent::parse(b"acquired@@\xff\xfe"), None);
    }

    #[test]
    fn words_are_read_as_peers_write_them() {
        assert_eq!(OwnerWord::parse("@@"), Some(OwnerWord::NONE));
        let word = OwnerWord::parse("0:12@10.0.0.1@@15999").unwrap();
        assert_eq!(word.owner, Some(id("0:12@10.0.0.1")));
        assert_eq!(word.left, 15_999);
        assert_eq!(OwnerWord::parse("a@@-1").unwrap().left, -1);
    }

    #[test]
    fn what_is_no_word_is_none() {
        for text in ["", "a", "a@@", "a@@b", "@@5", "a@@b@@5", "a@@5.0", " @@5"] {
            assert_eq!(OwnerWord::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_grant_says_what_for_and_others_say_nothing() {
        let nonce = Nonce::random();
        let marked = nonce.wanted_for(Purpose::Leader);
        assert_eq!(grant_purpose(&format!("7 {marked}")), Some(Purpose::Leader));
        for unmarked in [
            format!("7 {nonce}"),
            format!("7 {}", crate::model::chance::uuid().simple()),
            format!("7 {marked} "),
            format!("7 +{}", &marked.to_string()[1..]),
            format!("7 {}", &marked.to_string()[1..]),
            "7 ".into(),
            "7".into(),
            String::new(),
        ] {
            assert_eq!(grant_purpose(&unmarked), None, "{unmarked:?}");
        }
    }
}
