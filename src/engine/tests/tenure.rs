//! The deadline of a tenure, without a machine or a task around it.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::Bid;
use crate::clock::Clock;
use crate::engine::birth::Birth;
use crate::engine::lease::Lease;
use crate::engine::store_clock::ClockReading;
use crate::engine::tenure::Tenure;
use crate::error::LossCause;
use crate::model::{ContenderId, FencingToken, LeaseTerms, MutexName, StoreTime};

const SECOND: Duration = Duration::from_secs(1);

/// A tenure that ends in ten seconds.
fn begin(clock: &Clock) -> (Tenure, Arc<Lease>) {
    begin_in(Birth::here(), clock)
}

fn begin_in(birth: Birth, clock: &Clock) -> (Tenure, Arc<Lease>) {
    let (name, id) = (MutexName::new("m").unwrap(), ContenderId::new("a").unwrap());
    let bid = Arc::new(Bid::new(name, id, LeaseTerms::default()));
    let won = (bid, FencingToken::from_store(1).unwrap());
    let now = clock.now();
    let reading = ClockReading {
        sent_at: now,
        heard_at: now,
        store: StoreTime::from_millis(1),
    };
    let (sent, deadline) = (clock.look_before(), now + SECOND * 10);
    Tenure::begin(birth, won, clock.clone(), deadline, reading, sent)
}

#[tokio::test(start_paused = true)]
async fn whoever_sees_the_deadline_pass_makes_it_final() {
    let clock = Clock::tokio();
    let (tenure, lease) = begin(&clock);
    clock.sleep(SECOND * 9).await;
    assert!(tenure.token().is_ok());
    clock.sleep(SECOND).await;
    assert_eq!(tenure.token().unwrap_err().cause, LossCause::Deadline);
    assert!(
        !lease.extend(clock.now() + SECOND * 10, clock.look_before()),
        "a renewal that was answered too late"
    );
    assert!(tenure.is_lost());
}

#[tokio::test(start_paused = true)]
async fn an_extension_comes_too_late_also_when_nobody_looked() {
    let clock = Clock::tokio();
    let (tenure, lease) = begin(&clock);
    clock.sleep(SECOND * 11).await;
    assert!(!lease.extend(clock.now() + SECOND * 10, clock.look_before()));
    assert!(tenure.is_lost());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_comes_nearer_wakes_whoever_waits_for_the_loss() {
    let clock = Clock::tokio();
    let (tenure, lease) = begin(&clock);
    let begin = clock.now();
    let waiting = tokio::spawn(async move { tenure.lost().await });
    clock.sleep(SECOND).await;
    assert!(lease.extend(begin + SECOND * 3, clock.look_before()));
    waiting.await.unwrap();
    assert!(clock.now().since(begin) < SECOND * 4);
}

#[tokio::test(start_paused = true)]
async fn the_end_for_one_holder_is_not_the_end_for_the_next() {
    let clock = Clock::tokio();
    let (first, lease) = begin(&clock);
    let second = first.succeeded_by(None).unwrap();
    first.end(LossCause::Released);
    assert_eq!(first.token().unwrap_err().cause, LossCause::Released);
    assert!(second.token().unwrap() > first.own_token());
    lease.end(LossCause::Taken);
    assert_eq!(second.token().unwrap_err().cause, LossCause::Taken);
    assert_eq!(
        first.token().unwrap_err().cause,
        LossCause::Released,
        "the first cause stays"
    );
}

#[tokio::test(start_paused = true)]
async fn a_holder_whose_limit_was_seen_to_pass_has_nothing_to_release() {
    let clock = Clock::tokio();
    let (tenure, _lease) = begin(&clock);
    let tenure = tenure.limited(Some(clock.now() + SECOND));
    clock.sleep(SECOND).await;
    assert!(tenure.is_lost());
    assert!(!tenure.end(LossCause::Released), "it had ended before");
    assert_eq!(tenure.token().unwrap_err().cause, LossCause::Deadline);
}

#[tokio::test(start_paused = true)]
async fn a_copy_in_a_fork_owns_nothing() {
    let clock = Clock::tokio();
    let (tenure, lease) = begin_in(Birth::elsewhere(), &clock);
    assert_eq!(tenure.token().unwrap_err().cause, LossCause::Forked);
    assert_eq!(tenure.lost().await.cause, LossCause::Forked);
    assert!(!lease.extend(clock.now() + SECOND * 10, clock.look_before()));
}

/// What a look costs. The numbers are in the decision on the wall clock.
#[test]
fn a_look_is_cheap() {
    let clock = Clock::boot();
    let (tenure, _lease) = begin(&clock);
    let ignoring = clock.clone().ignoring_wall();
    for (what, clock) in [("watching", clock), ("ignoring", ignoring)] {
        let begin = std::time::Instant::now();
        for _ in 0..100_000 {
            std::hint::black_box(clock.look());
        }
        println!("{what} the wall clock: {:?}", begin.elapsed() / 100_000);
    }
    let begin = std::time::Instant::now();
    for _ in 0..100_000 {
        assert!(std::hint::black_box(&tenure).token().is_ok());
    }
    let one = begin.elapsed() / 100_000;
    println!("token(): {one:?}");
    assert!(one < Duration::from_micros(50), "{one:?}");
}
