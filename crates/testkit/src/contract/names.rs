//! Names and ids are bytes: what differs is different.

use tenure::backend::Backend;
use tenure::model::{ContenderId, MutexName};

use super::{Case, Subject};

/// Endings that some store, somewhere, takes for one another or for a command.
const LOOKALIKES: &[&str] = &[
    "a",
    "A",
    "á",
    "a\u{301}",
    "à",
    "ä",
    "ae",
    "æ",
    "ß",
    "ss",
    "SS",
    "ı",
    "i",
    "İ",
    "I",
    "ﬀ",
    "ff",
    "a.",
    "a..",
    "a-",
    "a_",
    "a%",
    "a*",
    "a?",
    "a[",
    "a]",
    "a[a]",
    "a{",
    "a{b}",
    "a/",
    "/a",
    "a/b",
    "a//b",
    "a/../b",
    "a/./b",
    "a:b",
    "a;--",
    "a'",
    "a''",
    "a\"",
    "a\\",
    "a\\'",
    "a\\\\",
    "a`",
    "a$1",
    "a b",
    "a  b",
    "a\u{a0}b",
    "a\u{200b}",
    "a\u{ad}",
    "日本",
    "にほん",
    "ニホン",
    "🦀",
    "🦀🦀",
    "a@b",
    "a#b",
    "a&b",
    "a+b",
    "a=b",
    "a,b",
    "a|b",
    "a~",
    "a^",
    "a!",
    "(a)",
    "<a>",
    "NULL",
    "%s",
    "a%20b",
];

/// Names differing in case, accent, width, escape or wildcard do not collide.
pub async fn names_that_look_alike_are_different(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let mut wins = Vec::new();
    for look in LOOKALIKES {
        let name = MutexName::new(format!("{}{look}", case.tag())).expect("a valid name");
        let win = case.win(&client, &case.long_bid(&name, "a")).await;
        wins.push(win);
    }
    // One at a time: each frees its own name and no other.
    while let Some(win) = wins.pop() {
        case.still_owns(&client, &win, "another name's release")
            .await;
        case.release(&client, &win.held).await;
        let name = &win.held.name;
        case.is_free(&client, name, "it was released").await;
    }
}

/// 66 bytes are a name, to the last of them.
pub async fn the_longest_names_are_kept_whole(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let room = MutexName::MAX_BYTES - case.tag().len();
    let plain = "x".repeat(room - 1);
    let wide = "é".repeat(room / 2 - 1);
    let mut wins = Vec::new();
    for text in [
        format!("{plain}a"),
        format!("{plain}b"),
        plain,
        format!("{wide}é"),
        format!("{wide}è"),
        wide,
    ] {
        let name = MutexName::new(format!("{}{text}", case.tag())).expect("a valid name");
        wins.push(case.win(&client, &case.long_bid(&name, "a")).await);
    }
    for win in wins {
        case.still_owns(&client, &win, "a longer name's bid").await;
        case.release(&client, &win.held).await;
    }
}

/// A name may be nothing but what a path, a pattern or a quote is made of.
pub async fn names_of_punctuation_alone_are_names(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    for text in [
        ".", "..", "/", "//", "%", "_", "*", "?", "\\", "'", "\"", "{", "{}", "[", "-",
    ] {
        let name = MutexName::new(text).expect("a valid name");
        // Another run of this suite may be here: these names cannot be our own.
        let bid = case.bid(&name, "a");
        let limit = bid.terms.lease() + case.patience();
        let why = format!("the name {text:?}");
        let win = case.win_within(&client, &bid, limit, &why).await;
        case.release(&client, &win.held).await;
    }
}

/// An id comes back as it was given, up to 128 bytes.
pub async fn ids_come_back_as_they_were_given(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let name = case.name("m");
    let longest = "y".repeat(ContenderId::MAX_BYTES - case.tag().len());
    let widest = "ü".repeat(longest.len() / 2);
    let texts = LOOKALIKES.iter().copied();
    for text in texts.chain([longest.as_str(), widest.as_str()]) {
        let id = ContenderId::new(format!("{}{text}", case.tag())).expect("a valid id");
        let bid = case.bid_of(&name, &id).with_unique_id();
        let win = case.win(&client, &bid).await;
        let (owner, _) = case.owner(&client, &name).await;
        assert_eq!(owner.owner_id(), Some(&id), "the id must come back whole");
        assert!(case.renew(&client, &win.held).await.is_won());
        case.release(&client, &win.held).await;
    }
}

/// Ids that look alike cannot renew, release or leave for each other.
pub async fn ids_that_look_alike_are_different(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let id = |text: &str| ContenderId::new(format!("{}{text}", case.tag())).expect("a valid id");
    let bid = case.bid_of(&case.name("m"), &id("a"));
    let mut long = bid.with_unique_id();
    long.terms = case.long_bid(&long.name, "a").terms;
    let win = case.win(&client, &long).await;
    for look in LOOKALIKES.iter().filter(|look| **look != "a") {
        let mut twin = win.held.clone();
        twin.contender = id(look);
        let renewed = case.renew(&client, &twin).await;
        assert!(!renewed.is_won(), "{look:?} renewed for \"a\"");
        let released = case.try_release(&client, &twin).await;
        assert!(!released.is_won(), "{look:?} released for \"a\"");
        let other = case.bid_of(&long.name, &twin.contender);
        case.leave(&client, &other.with_unique_id()).await;
    }
    case.still_owns(&client, &win, "ids that look alike").await;
    case.release(&client, &win.held).await;
    client.close().await.expect("close");
}
