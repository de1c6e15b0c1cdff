//! What befalls calls.

use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{Backend, Page};
use tenure::clock::Clock;
use tenure::stores::memory::Memory;
use tenure::{ErrorKind, Outcome};
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults, Rates};

use crate::{bid, store, won};

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_not_applied_and_says_so() {
    let (faults, store) = store();
    faults.next(Call::Acquire, Fault::Fail);
    let error = store.acquire(&bid("m")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(error.outcome(), Outcome::DidNot);
    let owner = store.inner().owner(&bid("m").name).await.unwrap();
    assert_eq!(owner.owner().owner_id(), None);
    assert!(
        store.acquire(&bid("m")).await.unwrap().is_won(),
        "only once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_is_not_applied_and_nobody_knows() {
    let (faults, store) = store();
    let held = won(&store, &bid("m")).await;
    faults.next(Call::Release, Fault::LoseRequest);
    let error = store.release(&held).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::MayHave);
    assert!(
        store.release(&held).await.unwrap().is_won(),
        "it had not happened"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_applied_and_nobody_knows() {
    let (faults, store) = store();
    let held = won(&store, &bid("m")).await;
    faults.next(Call::Release, Fault::LoseAnswer);
    let error = store.release(&held).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::MayHave);
    assert!(
        !store.release(&held).await.unwrap().is_won(),
        "it had happened"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_is_applied_and_nobody_knows() {
    let (faults, store) = store();
    let limit = Duration::from_secs(2);
    faults.next(Call::Acquire, Fault::TimeOut(limit));
    let begun = tokio::time::Instant::now();
    let error = store.acquire(&bid("m")).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Timeout, Outcome::MayHave)
    );
    assert_eq!(begun.elapsed(), limit);
    let owner = store.inner().owner(&bid("m").name).await.unwrap();
    assert!(owner.owner().owner_id().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_lost_look_changed_nothing() {
    let (faults, store) = store();
    faults.always(Call::Owner, Fault::LoseAnswer);
    faults.always(Call::List, Fault::LoseRequest);
    let error = store.owner(&bid("m").name).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::DidNot);
    let error = store.list(&Page::first(1)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::DidNot);
}

#[tokio::test(start_paused = true)]
async fn delays_are_before_or_after_the_call_is_applied() {
    let (faults, store) = store();
    let (store, length) = (Arc::new(store), Duration::from_secs(3));
    for (fault, applied) in [
        (Fault::DelayBefore(length), false),
        (Fault::DelayAfter(length), true),
    ] {
        let bid = bid(&format!("{applied}"));
        faults.next(Call::Acquire, fault);
        let begun = tokio::time::Instant::now();
        let call = tokio::spawn({
            let (store, bid) = (Arc::clone(&store), bid.clone());
            async move { store.acquire(&bid).await }
        });
        tokio::time::sleep(length / 2).await;
        let seen = store.inner().owner(&bid.name).await.unwrap();
        assert_eq!(seen.owner().owner_id().is_some(), applied);
        assert!(call.await.unwrap().unwrap().is_won());
        assert_eq!(begun.elapsed(), length);
    }
}

#[tokio::test(start_paused = true)]
async fn what_hangs_goes_on_when_healed() {
    for (fault, applied) in [(Fault::Hang, false), (Fault::HangAfter, true)] {
        let (faults, store) = store();
        let store = Arc::new(store);
        faults.always(Call::Acquire, fault);
        let call = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.acquire(&bid("m")).await }
        });
        tokio::time::sleep(Duration::from_secs(86_400)).await;
        assert!(!call.is_finished(), "it hangs for ever");
        let seen = store.inner().list(&Page::first(9)).await.unwrap();
        assert_eq!(faults.calls(Call::Acquire), 1);
        let before = store.inner().owner(&bid("m").name).await.unwrap();
        // A day later the lease is over; the token shows that it was granted.
        assert!(seen.entries.is_empty() && before.owner().owner_id().is_none());
        faults.heal();
        let answer = call.await.unwrap().unwrap();
        let is_old = answer.owner().transition_at() < Some(before.now());
        assert_eq!(is_old, applied);
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_is_applied_twice() {
    let (faults, store) = store();
    let held = won(&store, &bid("m")).await;
    faults.next(Call::Release, Fault::Duplicate);
    assert!(
        !store.release(&held).await.unwrap().is_won(),
        "the second says no"
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_duplicate_comes_after_its_answer() {
    let (faults, store) = store();
    faults.next(Call::Acquire, Fault::DuplicateLate(Duration::from_secs(5)));
    let answer = store.acquire(&bid("m").without_queue()).await.unwrap();
    assert!(answer.is_won());
    store.inner().revoke(&bid("m").name, None).await.unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let owner = store.inner().owner(&bid("m").name).await.unwrap();
    assert!(
        owner.owner().owner_id().is_some(),
        "the duplicate took it again"
    );
}

#[tokio::test(start_paused = true)]
async fn rules_for_a_name_leave_other_names_alone() {
    let (faults, store) = store();
    faults.always_for(Call::Acquire, &bid("sick").name, Fault::Fail);
    assert!(store.acquire(&bid("well")).await.unwrap().is_won());
    assert!(store.acquire(&bid("sick")).await.is_err());
    assert!(store.acquire(&bid("sick")).await.is_err());
    faults.heal();
    assert!(store.acquire(&bid("sick")).await.unwrap().is_won());
}

#[tokio::test(start_paused = true)]
async fn one_element_of_a_batch_can_fail_alone() {
    let (faults, store) = store();
    let mut batch = Vec::new();
    for name in ["a", "b", "c", "d"] {
        batch.push(won(&store, &bid(name)).await);
    }
    faults.next_for(Call::Renew, &batch[1].name, Fault::Fail);
    faults.next_for(Call::Renew, &batch[2].name, Fault::LoseAnswer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let answers = store.renew(&batch).await;
    let outcome = |index: usize| answers[index].as_ref().map_err(tenure::Error::outcome);
    assert!(outcome(0).unwrap().is_won() && outcome(3).unwrap().is_won());
    assert_eq!(outcome(1).unwrap_err(), Outcome::DidNot);
    assert_eq!(outcome(2).unwrap_err(), Outcome::MayHave);
    let end = async |index: usize| {
        let answer = store.inner().owner(&batch[index].name).await.unwrap();
        answer.owner().transition_at()
    };
    assert!(end(1).await < end(0).await, "this one was not sent");
    assert_eq!(end(2).await, end(0).await, "this one was applied");
}

#[tokio::test(start_paused = true)]
async fn a_whole_batch_can_fail() {
    let (faults, store) = store();
    let held = won(&store, &bid("m")).await;
    for (fault, outcome) in [
        (Fault::Fail, Outcome::DidNot),
        (Fault::LoseAnswer, Outcome::MayHave),
    ] {
        faults.next(Call::Renew, fault);
        for answer in store.renew(&[held.clone(), held.clone()]).await {
            assert_eq!(answer.unwrap_err().outcome(), outcome);
        }
    }
    assert_eq!(
        faults.calls_for(Call::Renew, &held.name),
        2,
        "calls, not elements"
    );
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_calls_names_and_times() {
    let (faults, store) = store();
    let held = won(&store, &bid("m")).await;
    store.renew(std::slice::from_ref(&held)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    store.release(&held).await.unwrap();
    let log = faults.log();
    let calls: Vec<_> = log.iter().map(|record| record.call).collect();
    assert_eq!(calls, [Call::Renew, Call::Release]);
    assert_eq!(log[1].names, [held.name]);
    assert_eq!(log[1].at.since(log[0].at), Duration::from_secs(2));
}

/// What a run of seeded faults looks like from outside.
async fn run(seed: u64) -> Vec<String> {
    let clock = Clock::tokio();
    let faults = Faults::seeded(clock.clone(), seed, Rates::all(0.15));
    let store = FaultBackend::new(Memory::with_clock(clock.clone()), &faults);
    let begun = clock.now();
    let mut seen = Vec::new();
    for round in 0..40 {
        let bid = bid(&format!("m{round}"));
        let answer = store.acquire(&bid).await;
        let short = answer.map(|a| a.is_won()).map_err(|error| error.outcome());
        seen.push(format!("{short:?} {:?}", clock.now().since(begun)));
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn the_seed_decides_everything() {
    let (one, same, other) = (run(1).await, run(1).await, run(2).await);
    assert_eq!(one, same);
    assert_ne!(one, other);
    for wanted in ["Ok(true)", "Err(DidNot)", "Err(MayHave)"] {
        assert!(one.iter().any(|line| line.starts_with(wanted)), "{wanted}");
    }
}
