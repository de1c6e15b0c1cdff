//! What the store holds, for people.

use tenure::backend::{Backend, Entry, Page};
use tenure::model::Purpose;

use super::{Case, Part, Subject, Waiter};
use crate::Whole as _;

/// The entries of this test, page by page.
async fn pages<S: Subject>(case: &Case<'_, S>, client: &S::Backend, limit: usize) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut page = Page::first(limit);
    loop {
        let listing = client.list(&page).await;
        let listing = listing.unwrap_or_else(|error| panic!("list failed: {error:?}"));
        assert!(listing.entries.len() <= limit, "a page has its limit");
        if let Some(after) = &page.after {
            let late = listing.entries.iter().all(|entry| entry.name > *after);
            assert!(late, "a page begins after {after:?}: {listing:?}");
        }
        entries.extend(listing.entries.clone());
        match listing.next {
            None => break,
            Some(ref next) => {
                assert!(page.after.as_ref() < Some(next), "no progress at {next:?}");
                // A caller that has lost the listing asks by name: the same is told.
                let by_name = Page::first(limit).after(next.clone());
                let asked = fastrand::bool();
                let following = listing.next_page(&page).expect("there is a next");
                page = if asked { by_name } else { following };
            }
        }
    }
    let sorted = entries.is_sorted_by(|left, right| left.name < right.name);
    assert!(
        sorted,
        "entries come in the order of their names, each once"
    );
    entries.retain(|entry| entry.name.as_str().starts_with(case.tag()));
    entries
}

/// An owned mutex is listed with its owner and token.
pub async fn a_listing_tells_owner_and_token(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    if case.has_none(&client, Part::Inventory, "a_listing_tells_owner_and_token") {
        return;
    }
    let win = case
        .win(&client, &case.long_bid(&case.name("m"), "a"))
        .await;
    let entries = pages(&case, &client, 100).await;
    assert_eq!(entries.len(), 1, "one name is in use: {entries:?}");
    let entry = &entries[0];
    assert_eq!(entry.name, win.held.name);
    assert!(entry.owner.is_owner(&win.held.contender), "{entry:?}");
    assert_eq!(entry.token, Some(win.token()), "the last grant's token");
    case.release(&client, &win.held).await;
}

/// What an owner owns for is listed; of one that does not say it, nothing is.
pub async fn a_listing_tells_what_an_owner_owns_for(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let sentence = "a_listing_tells_what_an_owner_owns_for";
    if case.has_none(&client, Part::Inventory, sentence) {
        return;
    }
    let purposes = Purpose::ALL.map(Some).into_iter().chain([None]);
    let name = case.name("m");
    for purpose in purposes {
        let bid = case.long_bid(&name, "a");
        let bid = match purpose {
            Some(purpose) => bid.wanted_for(purpose),
            None => bid,
        };
        let win = case.win(&client, &bid).await;
        let entries = pages(&case, &client, 100).await;
        assert_eq!(entries.len(), 1, "one name is in use: {entries:?}");
        match entries[0].purpose {
            // There is no room for it.
            None if !client.profile().nonce => {}
            told => assert_eq!(told, purpose, "{bid:?}"),
        }
        case.release(&client, &win.held).await;
    }
}

/// Pages of any size add up to the same list, in the order of names.
pub async fn pages_follow_each_other_in_the_order_of_names(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    if case.has_none(
        &client,
        Part::Inventory,
        "pages_follow_each_other_in_the_order_of_names",
    ) {
        return;
    }
    let mut wins = Vec::new();
    for text in ["b", "é", "a", "B", "a/b", "z", "aa", "~", "日"] {
        let bid = case.long_bid(&case.name(text), "a");
        wins.push(case.win(&client, &bid).await);
    }
    wins.sort_by(|left, right| left.held.name.cmp(&right.held.name));
    let expected: Vec<_> = wins.iter().map(|win| win.held.name.clone()).collect();
    for limit in [1, 2, 3, wins.len(), 1000] {
        let listed = pages(&case, &client, limit).await;
        let listed: Vec<_> = listed.into_iter().map(|entry| entry.name).collect();
        assert_eq!(listed, expected, "in pages of {limit}");
    }
    for win in wins {
        case.release(&client, &win.held).await;
    }
}

/// Who waits is listed in order, where the store keeps one.
pub async fn a_listing_tells_who_waits(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    if case.has_none(&client, Part::Inventory, "a_listing_tells_who_waits") {
        return;
    }
    let name = case.name("m");
    let win = case.win(&client, &case.long_bid(&name, "a")).await;
    let mut waiters = Vec::new();
    for who in ["z", "y", "x"] {
        waiters.push(Waiter::stand(&case, &client, case.long_bid(&name, who)).await);
    }
    let entries = pages(&case, &client, 100).await;
    let ids = waiters.iter().map(|waiter| waiter.bid.contender.clone());
    let ids: Vec<_> = ids.collect();
    assert_eq!(entries.len(), 1, "one name is in use: {entries:?}");
    if client.profile().ordered {
        assert_eq!(entries[0].waiters, ids, "first come first");
    } else {
        let strangers = entries[0].waiters.iter().any(|id| !ids.contains(id));
        assert!(!strangers, "only who waits: {entries:?}");
    }
    for waiter in &waiters {
        case.leave(&client, &waiter.bid).await;
    }
    case.release(&client, &win.held).await;
}

/// A mutex without owner and waiters is not listed.
pub async fn a_free_mutex_is_not_listed(subject: &impl Subject) {
    let case = Case::new(subject);
    let (client, other) = (case.client().await, case.client().await);
    if case.has_none(&client, Part::Inventory, "a_free_mutex_is_not_listed") {
        return;
    }
    let bid = case.long_bid(&case.name("released"), "a");
    let released = case.win(&client, &bid).await;
    let expired = case
        .win(&other, &case.bid(&case.name("expired"), "a"))
        .await;
    case.release(&client, &released.held).await;
    case.run_out(other, &expired).await;
    // Won last: where a session sets the terms, its lease is no longer than others.
    let kept = case
        .win(&client, &case.long_bid(&case.name("kept"), "a"))
        .await;
    let entries = pages(&case, &client, 100).await;
    let names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
    assert_eq!(
        names,
        std::slice::from_ref(&kept.held.name),
        "only what is in use"
    );
    case.release(&client, &kept.held).await;
}

/// A page of names tells those of them that are in use, and no other.
pub async fn named_mutexes_are_looked_up(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    if case.has_none(&client, Part::Inventory, "named_mutexes_are_looked_up") {
        return;
    }
    let mut wins = Vec::new();
    for text in ["b", "a", "other"] {
        let bid = case.long_bid(&case.name(text), "a");
        wins.push(case.win(&client, &bid).await);
    }
    let names = ["b", "free", "a", "b"].map(|text| case.name(text));
    let listing = client.list(&Page::of(names)).await;
    let listing = listing.unwrap_or_else(|error| panic!("list failed: {error:?}"));
    assert_eq!(listing.next, None, "a page of names has no next");
    let told: Vec<_> = listing.entries.iter().map(|entry| &entry.name).collect();
    assert_eq!(told, [&wins[1].held.name, &wins[0].held.name], "each once");
    let owner = &listing.entries[1].owner;
    assert!(owner.is_owner(&wins[0].held.contender), "{listing:?}");
    for win in wins {
        case.release(&client, &win.held).await;
    }
}
