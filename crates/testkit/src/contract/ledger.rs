//! The run ledger of a schedule.

use tenure::backend::{Backend, Claim, ClaimAnswer, Held, LedgerEntry, TickEnd, TickState};
use tenure::model::{FencingToken, MutexName, StoreTime};

use super::{Case, Part, Subject};
use crate::Whole as _;

const PLAN: &str = "rate 1s";

fn claim(tick: u64) -> Claim {
    let at = |tick: u64| StoreTime::from_millis(1_700_000_000_000 + tick * 1000);
    Claim::new(PLAN, at(0), tick, at(tick))
}

/// A client and its grant; `None` where the store keeps no ledger.
async fn owner<S: Subject>(case: &Case<'_, S>) -> Option<(S::Backend, Held)> {
    let client = case.lasting_client().await;
    if case.has_none(&client, Part::Ledger, "a sentence about ledgers") {
        return None;
    }
    let win = case
        .win(&client, &case.long_bid(&case.name("m"), "a"))
        .await;
    Some((client, win.held))
}

async fn claims(client: &impl Backend, held: &Held, claim: &Claim) -> ClaimAnswer {
    let answer = client.claim_tick(held, claim).await;
    answer.unwrap_or_else(|error| panic!("claim_tick failed: {error:?}"))
}

async fn finish(client: &impl Backend, held: &Held, end: TickEnd) -> bool {
    let answer = client.finish_tick(held, &end).await;
    answer.unwrap_or_else(|error| panic!("finish_tick failed: {error:?}"))
}

async fn read(client: &impl Backend, name: &MutexName) -> Option<LedgerEntry> {
    let entry = client.read_ledger(name).await;
    entry.unwrap_or_else(|error| panic!("read_ledger failed: {error:?}"))
}

/// The claim must be refused, and the ledger stay as it is.
async fn refused(client: &impl Backend, held: &Held, claim: &Claim, why: &str) {
    let before = read(client, &held.name)
        .await
        .expect("what was claimed must be in the ledger");
    match claims(client, held, claim).await {
        ClaimAnswer::Refused(entry) => assert_eq!(entry, before, "{why}: what it holds"),
        other => panic!("{why}: must be refused, and got {other:?}"),
    }
    let after = read(client, &held.name).await;
    assert_eq!(after, Some(before), "{why}: a refusal changes nothing");
}

/// The first claim is granted, and the ledger holds what it said.
pub async fn the_first_claim_is_granted_and_read_back(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    assert_eq!(read(&client, &held.name).await, None, "nothing claimed yet");
    assert_eq!(
        claims(&client, &held, &claim(4)).await,
        ClaimAnswer::Claimed
    );
    let there = case.client().await;
    let entry = read(&there, &held.name)
        .await
        .expect("what was claimed must be in the ledger");
    assert_eq!(entry, LedgerEntry::claimed(&claim(4), held.token));
    let other = case.name("other");
    assert_eq!(read(&client, &other).await, None, "each name has its own");
}

/// A tick is claimed once, and never one before it.
pub async fn ticks_only_rise(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    for tick in [0, 1, 5] {
        let answer = claims(&client, &held, &claim(tick)).await;
        assert_eq!(answer, ClaimAnswer::Claimed, "tick {tick}");
    }
    for tick in [5, 4, 0] {
        refused(&client, &held, &claim(tick), "a tick that has been").await;
    }
    assert!(finish(&client, &held, TickEnd::new(5, true)).await);
    refused(&client, &held, &claim(5), "a tick that is done").await;
}

/// After a lost answer the claimer sees its own token, and knows.
pub async fn a_repeated_claim_shows_its_own_token(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    assert_eq!(
        claims(&client, &held, &claim(1)).await,
        ClaimAnswer::Claimed
    );
    match claims(&client, &held, &claim(1)).await {
        ClaimAnswer::Refused(entry) => {
            assert_eq!((entry.last_tick, entry.token), (1, held.token));
        }
        other => panic!("a repeated claim is refused with the entry, not {other:?}"),
    }
    refused(&client, &held, &claim(1).again(), "no larger token").await;
}

/// A tick left unfinished runs again only if asked for, under a larger token.
pub async fn an_unfinished_tick_runs_again_under_a_larger_token(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, first)) = owner(&case).await else {
        return;
    };
    assert_eq!(
        claims(&client, &first, &claim(7)).await,
        ClaimAnswer::Claimed
    );
    case.release(&client, &first).await;
    let bid = case.long_bid(&first.name, "b");
    let second = case.win(&client, &bid).await.held;
    refused(&client, &second, &claim(7), "it was not asked for again").await;
    refused(
        &client,
        &second,
        &claim(6).again(),
        "not the unfinished one",
    )
    .await;
    let answer = claims(&client, &second, &claim(7).again()).await;
    assert_eq!(answer, ClaimAnswer::Claimed, "the leader before it died");
    let entry = read(&client, &second.name)
        .await
        .expect("what was claimed must be in the ledger");
    assert_eq!(entry.token, second.token, "it is the new leader's now");
    assert!(finish(&client, &second, TickEnd::new(7, false)).await);
    case.release(&client, &second).await;
    let third = case
        .win(&client, &case.long_bid(&first.name, "c"))
        .await
        .held;
    refused(&client, &third, &claim(7).again(), "it has ended").await;
    assert_eq!(
        claims(&client, &third, &claim(8)).await,
        ClaimAnswer::Claimed
    );
}

/// Only the grant that owns may claim.
pub async fn only_the_owner_claims(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    assert_eq!(
        claims(&client, &held, &claim(1)).await,
        ClaimAnswer::Claimed
    );
    let mut smaller = held.clone();
    smaller.token = FencingToken::from_store(held.token.store() - 1).expect("small");
    let mut stranger = held.clone();
    stranger.contender = case.id("stranger");
    for wrong in [smaller, stranger] {
        let answer = claims(&client, &wrong, &claim(2)).await;
        assert_eq!(answer, ClaimAnswer::NotOwner, "{wrong:?}");
    }
    case.release(&client, &held).await;
    let answer = claims(&client, &held, &claim(2)).await;
    assert_eq!(answer, ClaimAnswer::NotOwner, "it has released");
    let next = case.win(&client, &case.long_bid(&held.name, "b")).await;
    let answer = claims(&client, &held, &claim(2)).await;
    assert_eq!(answer, ClaimAnswer::NotOwner, "another owns");
    let entry = read(&client, &held.name)
        .await
        .expect("what was claimed must be in the ledger");
    assert_eq!(entry.last_tick, 1, "nothing of this was written");
    case.release(&client, &next.held).await;
}

/// One plan per ledger, until a claim replaces it.
pub async fn another_plan_is_refused_unless_it_replaces(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    assert_eq!(
        claims(&client, &held, &claim(1)).await,
        ClaimAnswer::Claimed
    );
    let at = StoreTime::from_millis(1_800_000_000_000);
    let other = Claim::new("cron 0 3 * * * Europe/Zürich", at, 2, at);
    refused(&client, &held, &other, "another plan").await;
    let answer = claims(&client, &held, &other.clone().replacing_plan()).await;
    assert_eq!(answer, ClaimAnswer::Claimed, "it replaces the plan");
    let entry = read(&client, &held.name)
        .await
        .expect("what was claimed must be in the ledger");
    assert_eq!(entry, LedgerEntry::claimed(&other, held.token));
    refused(&client, &held, &claim(3), "the plan before").await;
}

/// A plan can be written without starting a tick; the tick stays to be claimed.
pub async fn a_plan_is_written_before_any_tick(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    let plan = claim(0).only_plan();
    assert_eq!(claims(&client, &held, &plan).await, ClaimAnswer::Claimed);
    let there = case.client().await;
    let entry = read(&there, &held.name).await;
    let entry = entry.expect("what was planned must be in the ledger");
    assert_eq!(entry.state, TickState::Planned, "nothing was started");
    assert_eq!(entry, LedgerEntry::claimed(&plan, held.token));
    assert!(
        !finish(&client, &held, TickEnd::new(0, true)).await,
        "the end of a tick that was only planned was recorded"
    );
    let mut stranger = held.clone();
    stranger.contender = case.id("stranger");
    let answer = claims(&client, &stranger, &claim(0)).await;
    assert_eq!(answer, ClaimAnswer::NotOwner);
    let answer = claims(&client, &held, &claim(0)).await;
    assert_eq!(answer, ClaimAnswer::Claimed, "what was planned is claimed");
    refused(&client, &held, &claim(0), "a tick that was claimed").await;
    assert!(finish(&client, &held, TickEnd::new(0, true)).await);
}

/// The next leader finds the plan and its origin, and cannot write it anew.
pub async fn a_plan_that_stands_is_not_written_again(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, first)) = owner(&case).await else {
        return;
    };
    let plan = claim(0).only_plan();
    assert_eq!(claims(&client, &first, &plan).await, ClaimAnswer::Claimed);
    refused(&client, &first, &plan, "it stands, and its answer was lost").await;
    case.release(&client, &first).await;
    let bid = case.long_bid(&first.name, "b");
    let second = case.win(&client, &bid).await.held;
    let later = StoreTime::from_millis(1_800_000_000_000);
    let anew = Claim::new(PLAN, later, 0, later).only_plan();
    refused(&client, &second, &anew, "the origin stands").await;
    let anew = Claim::new(PLAN, later, 1, later).only_plan();
    refused(&client, &second, &anew.replacing_plan(), "it is the same").await;
    let other = Claim::new("cron 0 3 * * * UTC", later, 0, later);
    refused(&client, &second, &other, "another plan").await;
    refused(&client, &second, &other.only_plan(), "another plan").await;
    let answer = claims(&client, &second, &claim(2)).await;
    assert_eq!(answer, ClaimAnswer::Claimed, "it may leave ticks out");
    refused(&client, &second, &plan, "a tick has been claimed").await;
}

/// A plan that replaces another stands at once, not from its first tick on.
pub async fn a_plan_replaces_another_before_its_first_tick(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    assert_eq!(
        claims(&client, &held, &claim(3)).await,
        ClaimAnswer::Claimed
    );
    let at = StoreTime::from_millis(1_800_000_000_000);
    let other = Claim::new("cron 0 3 * * * UTC", at, 4, at).replacing_plan();
    let plan = other.clone().only_plan();
    assert_eq!(claims(&client, &held, &plan).await, ClaimAnswer::Claimed);
    refused(&client, &held, &claim(5), "the plan before").await;
    let third = Claim::new("cron 0 4 * * * UTC", at, 4, at).replacing_plan();
    let answer = claims(&client, &held, &third.clone().only_plan()).await;
    assert_eq!(answer, ClaimAnswer::Claimed, "nothing was run under it");
    assert_eq!(claims(&client, &held, &third).await, ClaimAnswer::Claimed);
    refused(&client, &held, &third, "a tick that was claimed").await;
}

/// How a tick ended is written, also when it ended after its tenure.
pub async fn the_end_of_a_tick_is_recorded(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    for (tick, done, state) in [(1, true, TickState::Done), (2, false, TickState::Failed)] {
        assert_eq!(
            claims(&client, &held, &claim(tick)).await,
            ClaimAnswer::Claimed
        );
        if tick == 2 {
            case.release(&client, &held).await;
        }
        // Twice: its answer may be lost as well.
        for _ in 0..2 {
            assert!(finish(&client, &held, TickEnd::new(tick, done)).await);
        }
        let entry = read(&client, &held.name)
            .await
            .expect("what was claimed must be in the ledger");
        assert_eq!((entry.last_tick, entry.state), (tick, state));
        assert!(entry.finished_at.is_some(), "it has ended: {entry:?}");
        assert_eq!(entry.token, held.token, "the token stays");
    }
}

/// An end that comes after another's claim is not written.
pub async fn an_end_after_anothers_claim_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, first)) = owner(&case).await else {
        return;
    };
    assert!(
        !finish(&client, &first, TickEnd::new(1, true)).await,
        "the end of a tick that nobody claimed was recorded"
    );
    assert_eq!(
        claims(&client, &first, &claim(1)).await,
        ClaimAnswer::Claimed
    );
    let wrong = TickEnd::new(2, true);
    let finished = finish(&client, &first, wrong).await;
    assert!(
        !finished,
        "the end of another tick than the claimed one was recorded"
    );
    case.release(&client, &first).await;
    let bid = case.long_bid(&first.name, "b");
    let second = case.win(&client, &bid).await.held;
    let answer = claims(&client, &second, &claim(1).again()).await;
    assert_eq!(answer, ClaimAnswer::Claimed);
    let before = read(&client, &first.name).await;
    let late = finish(&client, &first, TickEnd::new(1, true)).await;
    assert!(
        !late,
        "the end of a tick that is another's by now was recorded"
    );
    assert_eq!(read(&client, &first.name).await, before, "nothing changed");
}

/// When a tick was begun is kept with it, and gone with the next claim.
pub async fn the_beginning_of_a_tick_is_recorded(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    let begun = StoreTime::from_millis(1_700_000_123_456);
    let answer = claims(&client, &held, &claim(1).begun_at(begun)).await;
    assert_eq!(answer, ClaimAnswer::Claimed);
    let there = case.client().await;
    let entry = read(&there, &held.name).await.expect("a ledger");
    assert_eq!(entry.begun_at, Some(begun), "as it was said: {entry:?}");
    assert!(finish(&client, &held, TickEnd::new(1, true)).await);
    let entry = read(&there, &held.name).await.expect("a ledger");
    assert_eq!(entry.begun_at, Some(begun), "also when it has ended");
    // As processes of earlier versions claim.
    let answer = claims(&client, &held, &claim(2)).await;
    assert_eq!(answer, ClaimAnswer::Claimed);
    let entry = read(&there, &held.name).await.expect("a ledger");
    assert_eq!(entry.begun_at, None, "nobody said when: {entry:?}");
}

/// A tick that was skipped is told from one that was done, and is as much over.
pub async fn a_tick_that_is_skipped_is_recorded(subject: &impl Subject) {
    let case = Case::new(subject);
    let Some((client, held)) = owner(&case).await else {
        return;
    };
    let begun = StoreTime::from_millis(1_700_000_123_456);
    let answer = claims(&client, &held, &claim(1).begun_at(begun)).await;
    assert_eq!(answer, ClaimAnswer::Claimed);
    for _ in 0..2 {
        assert!(finish(&client, &held, TickEnd::skipped(1)).await);
    }
    let there = case.client().await;
    let entry = read(&there, &held.name).await.expect("a ledger");
    assert_eq!(entry.state, TickState::Skipped, "{entry:?}");
    assert_eq!(entry.begun_at, None, "it was not run: {entry:?}");
    assert!(entry.finished_at.is_some(), "it is over: {entry:?}");
    refused(&client, &held, &claim(1), "a tick that was skipped").await;
    let answer = claims(&client, &held, &claim(2)).await;
    assert_eq!(answer, ClaimAnswer::Claimed);
    assert!(finish(&client, &held, TickEnd::new(2, true)).await);
    let entry = read(&there, &held.name).await.expect("a ledger");
    assert_eq!(entry.state, TickState::Done, "the next is done: {entry:?}");
}
