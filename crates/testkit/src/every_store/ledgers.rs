//! Ledgers of earlier versions, and damaged ones beside healthy ones.

use std::time::Duration;

use crate::Whole as _;
use tenure::Coordinator;
use tenure::backend::{Backend, Bid, Claim, ClaimAnswer, LedgerEntry, Page, TickEnd, TickState};
use tenure::model::{ContenderId, LeaseTerms, MutexName, StoreTime};
use tenure::schedule::RunResult;

const BEGUN: StoreTime = StoreTime::from_millis(1_700_000_000_000);

fn name(text: &str) -> MutexName {
    MutexName::new(text).expect("a name")
}

/// Runs the next tick of `mutex`, and one that is skipped; the ledger after
/// each.
async fn runs(client: &impl Backend, mutex: &str) -> [LedgerEntry; 2] {
    let id = ContenderId::new(format!("who-{:08x}", fastrand::u32(..))).expect("an id");
    let long = LeaseTerms::new(Duration::from_secs(60), Duration::from_secs(60)).expect("long");
    let bid = Bid::new(name(mutex), id, long).with_unique_id();
    let answer = client.acquire(&bid).await.expect("a free mutex");
    let held = bid.held(answer.token().unwrap_or_else(|| panic!("{answer:?}")));
    let last = client.read_ledger(&held.name).await.expect("a reading");
    let first = last.map_or(0, |entry| entry.last_tick + 1);
    let mut seen = Vec::new();
    for (tick, is_skipped) in [(first, false), (first + 1, true)] {
        let at = StoreTime::from_millis(tick);
        let claim = Claim::new("rate 1000ms after 0ms", at, tick, at).begun_at(BEGUN);
        let claimed = client.claim_tick(&held, &claim).await.expect("a claim");
        assert_eq!(claimed, ClaimAnswer::Claimed);
        let end = match is_skipped {
            true => TickEnd::skipped(tick),
            false => TickEnd::new(tick, true),
        };
        assert!(client.finish_tick(&held, &end).await.expect("an end"));
        let entry = client.read_ledger(&held.name).await.expect("a reading");
        seen.push(entry.expect("a ledger"));
    }
    client.release(&held).await.expect("a release");
    seen.try_into().expect("two")
}

/// A client whose store has no room for notes: it runs, and tells less.
pub async fn works_without_notes(client: &impl Backend) {
    for entry in runs(client, "old").await {
        assert_eq!((entry.state, entry.begun_at), (TickState::Done, None));
    }
    lists(client, &[name("old")]).await;
}

/// The same with room, over a ledger that was written without.
pub async fn works_with_notes(client: &impl Backend) {
    lists(client, &[name("old")]).await;
    let [done, skipped] = runs(client, "old").await;
    assert_eq!((done.state, done.begun_at), (TickState::Done, Some(BEGUN)));
    assert_eq!(skipped.state, TickState::Skipped);
    lists(client, &[name("old")]).await;
}

async fn lists(client: &impl Backend, names: &[MutexName]) {
    let ledgers = client.list_ledgers(&Page::first(10)).await.expect("a page");
    let told: Vec<_> = ledgers
        .entries
        .iter()
        .map(|line| line.name.clone())
        .collect();
    assert_eq!(told, names, "{ledgers:?}");
}

/// `damaged` are ledgers that cannot be made out, in a store where no other test
/// is: they hide no healthy one.
pub async fn damage_hides_no_other(
    client: &impl Backend,
    coordinator: &Coordinator,
    damaged: &[&str],
) {
    for healthy in ["aa-healthy", "zz-healthy"] {
        runs(client, healthy).await;
    }
    for size in [1, 2, 100] {
        let mut reports = Vec::new();
        let mut page = Page::first(size);
        loop {
            let schedules = coordinator.schedules(&page).await.expect("a page");
            reports.extend(schedules.reports.clone());
            match schedules.next_page(&page) {
                Some(next) => page = next,
                None => break,
            }
        }
        assert_eq!(reports.len(), damaged.len() + 2, "{reports:#?}");
        for report in &reports {
            let is_damaged = damaged.contains(&report.name.as_str());
            assert_eq!(report.fault.is_some(), is_damaged, "{report:?}");
            let skipped = Some(RunResult::Skipped).filter(|_| !is_damaged);
            assert_eq!(report.result, skipped, "{report:?}");
        }
    }
}
