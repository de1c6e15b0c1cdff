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

/// A fence that names an owner: `<token> <nonce> <id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FenceWord<'a> {
    /// The last token.
    pub(super) number: &'a str,
    /// Number and nonce.
    pub(super) grant: &'a str,
    /// Whose grant that is, while the owner's key says so, too.
    pub(super) owner: &'a str,
}

impl<'a> FenceWord<'a> {
    /// The word in `text`; `None` when it is none, as of a fence that is a number alone.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (number, rest) = text.split_once(' ')?;
        let (nonce, owner) = rest.split_once(' ')?;
        Nonce::parse(nonce)?;
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        (is_number && !owner.is_empty()).then(|| Self {
            number,
            grant: &text[..number.len() + 1 + nonce.len()],
            owner,
        })
    }
}

/// The number of the grant in `text`, which is what stands beside the owner's key: a
/// grant, or a fence, which may name another owner or none.
pub(super) fn number_beside(word: &OwnerWord, text: &str) -> Option<u64> {
    match FenceWord::parse(text) {
        Some(fence) if word.owner.as_ref()?.as_str() == fence.owner => fence.number.parse().ok(),
        Some(_) => None,
        None => grant_number(text),
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
    fn a_fence_names_an_owner_or_is_a_number() {
        let nonce = Nonce::random();
        let text = format!("1700000000000000 {nonce} 0:1@h with a space");
        let word = FenceWord::parse(&text).unwrap();
        assert_eq!(word.number, "1700000000000000");
        assert_eq!(word.grant, format!("1700000000000000 {nonce}"));
        assert_eq!(word.owner, "0:1@h with a space");
        for other in [
            "1700000000000000".to_owned(),
            format!("1700000000000000 {nonce}"),
            format!("1700000000000000 {nonce} "),
            format!(" {nonce} a"),
            format!("1x {nonce} a"),
            "17 ff a".to_owned(),
            String::new(),
        ] {
            assert_eq!(FenceWord::parse(&other), None, "{other:?}");
        }
    }

    #[test]
    fn what_a_fence_names_is_nobody_elses() {
        let nonce = Nonce::random();
        let word = OwnerWord::parse("a@@5").unwrap();
        let beside = |text: &str| number_beside(&word, text);
        assert_eq!(beside(&format!("7 {nonce} a")), Some(7));
        assert_eq!(beside(&format!("7 {nonce} b")), None);
        assert_eq!(beside(&format!("7 {nonce}")), Some(7));
        assert_eq!(beside("7"), None);
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
