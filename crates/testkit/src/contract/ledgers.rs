//! All ledgers of a store, for people.

use tenure::backend::{Backend, Claim, ClaimAnswer, LedgerEntry, LedgerLine, Page, TickEnd};
use tenure::model::{MutexName, StoreTime};

use super::{Case, Part, Subject};
use crate::Whole as _;

/// Writes a ledger under each of `names`, and frees the mutexes again.
async fn write<S: Subject>(
    case: &Case<'_, S>,
    client: &S::Backend,
    names: &[&str],
) -> Vec<(MutexName, LedgerEntry)> {
    let mut written = Vec::new();
    for (number, text) in names.iter().enumerate() {
        let name = case.name(text);
        let held = case.win(client, &case.long_bid(&name, "a")).await.held;
        let at = |tick: u64| StoreTime::from_millis(1_700_000_000_000 + tick * 1000);
        let tick = number as u64;
        let claim = Claim::new(format!("plan {text}"), at(0), tick, at(tick)).begun_at(at(9));
        let claimed = client.claim_tick(&held, &claim).await;
        let claimed = claimed.unwrap_or_else(|error| panic!("claim_tick failed: {error:?}"));
        assert_eq!(claimed, ClaimAnswer::Claimed);
        if number % 2 == 1 {
            let finished = client.finish_tick(&held, &TickEnd::new(tick, true)).await;
            assert!(finished.unwrap_or_else(|error| panic!("finish_tick failed: {error:?}")));
        }
        case.release(client, &held).await;
        let entry = client.read_ledger(&name).await.expect("a ledger");
        written.push((name, entry.expect("what was claimed must be in the ledger")));
    }
    written.sort_by(|left, right| left.0.cmp(&right.0));
    written
}

async fn page_of(client: &impl Backend, page: &Page) -> tenure::backend::Ledgers {
    let ledgers = client.list_ledgers(page).await;
    ledgers.unwrap_or_else(|error| panic!("list_ledgers failed: {error:?}"))
}

fn told(lines: &[LedgerLine]) -> Vec<(MutexName, LedgerEntry)> {
    let line = |line: &LedgerLine| {
        assert_eq!(line.fault, None, "{line:?}");
        (line.name.clone(), line.ledger.clone().expect("a ledger"))
    };
    lines.iter().map(line).collect()
}

/// Pages of any size add up to all ledgers, in the order of names, each as it
/// is read by itself.
pub async fn all_ledgers_are_listed_page_by_page(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    if case.has_none(&client, Part::Ledger, "all_ledgers_are_listed_page_by_page") {
        return;
    }
    let written = write(&case, &client, &["b", "é", "a", "B", "a/b", "~", "日"]).await;
    for limit in [1, 2, 3, 1000] {
        let mut lines: Vec<LedgerLine> = Vec::new();
        let mut page = Page::first(limit);
        loop {
            let ledgers = page_of(&client, &page).await;
            assert!(ledgers.entries.len() <= limit, "a page has its limit");
            assert!(ledgers.now > StoreTime::ZERO, "a page has its time");
            lines.extend(ledgers.entries.clone());
            let Some(next) = ledgers.next_page(&page) else {
                break;
            };
            // A caller that has lost the listing asks by name: the same is told.
            let by_name = Page::first(limit).after(ledgers.next.clone().expect("a next"));
            page = if fastrand::bool() { by_name } else { next };
        }
        let sorted = lines.is_sorted_by(|left, right| left.name < right.name);
        assert!(sorted, "in the order of their names, each once: {lines:?}");
        lines.retain(|line| line.name.as_str().starts_with(case.tag()));
        assert_eq!(told(&lines), written, "in pages of {limit}");
    }
}

/// A page of names tells those of them that have a ledger, and no other.
pub async fn named_ledgers_are_looked_up(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    if case.has_none(&client, Part::Ledger, "named_ledgers_are_looked_up") {
        return;
    }
    let mut written = write(&case, &client, &["b", "a", "other"]).await;
    let names = ["b", "none", "a", "b"].map(|text| case.name(text));
    let ledgers = page_of(&client, &Page::of(names)).await;
    assert_eq!(ledgers.next, None, "a page of names has no next");
    written.retain(|(name, _)| *name != case.name("other"));
    assert_eq!(told(&ledgers.entries), written, "each once, and no other");
    let none = page_of(&client, &Page::of([case.name("none")])).await;
    assert_eq!(none.entries, []);
}
