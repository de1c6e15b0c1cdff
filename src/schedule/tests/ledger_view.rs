//! A leader's view of the ledger, against a ledger kept by the rules.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::config::{Misfire, ScheduleConfig};
use super::super::ledger_view::{LedgerView, Refusal};
use crate::backend::{Claim, LedgerEntry, TickEnd};
use crate::error::ErrorKind;
use crate::model::{FencingToken, StoreTime};

const PERIOD: u64 = 1_000;

fn at(millis: u64) -> StoreTime {
    StoreTime::from_millis(millis)
}

fn token(number: u64) -> FencingToken {
    FencingToken::from_store(number).unwrap()
}

fn rate() -> ScheduleConfig {
    let period = Duration::from_millis(PERIOD);
    ScheduleConfig::rate(Duration::from_millis(300), period).unwrap()
}

fn entry(config: &ScheduleConfig, tick: u64, due: u64, number: u64) -> LedgerEntry {
    let claim = Claim::new(config.plan(), at(0), tick, at(due));
    LedgerEntry::claimed(&claim, token(number))
}

#[test]
fn the_first_tick_of_all_waits_for_the_initial_delay() {
    let config = rate();
    let view = LedgerView::open(&config, token(1), at(5_000), None).unwrap();
    let next = view.next(at(5_100)).unwrap();
    assert_eq!((next.claim.tick, next.claim.due_at), (0, at(5_300)));
    assert_eq!(next.claim.origin, at(5_000));
}

#[test]
fn the_next_leader_keeps_origin_and_grid() {
    let config = rate().with_misfire(Misfire::Skip);
    let last = entry(&config, 4, 4_300, 1);
    let view = LedgerView::open(&config, token(2), at(6_000), Some(last)).unwrap();
    let next = view.next(at(6_000)).unwrap();
    assert_eq!((next.claim.tick, next.claim.due_at), (6, at(6_300)));
    assert_eq!((next.claim.origin, next.skipped), (at(0), 1));
}

#[test]
fn an_unfinished_tick_is_skipped_or_run_again_once() {
    let last = |config: &ScheduleConfig| Some(entry(config, 4, 4_300, 1));
    let skipping = rate();
    let view = LedgerView::open(&skipping, token(2), at(4_400), last(&skipping)).unwrap();
    assert_eq!(view.unfinished().unwrap().last_tick, 4);
    assert_eq!(view.next(at(4_400)).unwrap().claim.tick, 5);

    let rerunning = rate().with_rerun_of_unfinished();
    let mut view = LedgerView::open(&rerunning, token(2), at(4_400), last(&rerunning)).unwrap();
    let again = view.next(at(4_400)).unwrap().claim;
    assert!(again.again && again.tick == 4 && again.due_at == at(4_300));
    view.claimed(&again);
    assert!(view.unfinished().is_none(), "it is ours now");
    view.finished(TickEnd::new(4, false), at(4_500));
    assert_eq!(view.next(at(4_500)).unwrap().claim.tick, 5);
}

#[test]
fn another_plan_is_a_conflict_unless_it_is_replaced() {
    let old = rate();
    let period = Duration::from_secs(60);
    let new = ScheduleConfig::rate(Duration::ZERO, period).unwrap();
    let last = || Some(entry(&old, 9, 9_300, 1));
    let error = LedgerView::open(&new, token(2), at(10_000), last()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let text = error.to_string();
    for words in ["rate 1000ms after 300ms", "rate 60000ms after 0ms"] {
        assert!(text.contains(words), "{text}");
    }
    let new = new.with_plan_replaced();
    let mut view = LedgerView::open(&new, token(2), at(10_000), last()).unwrap();
    let first = view.next(at(10_000)).unwrap().claim;
    assert!(first.replace_plan && first.tick == 10 && first.due_at == at(10_000));
    assert!(first.fits(last().as_ref(), token(2)));
    view.claimed(&first);
    let second = view.next(at(10_500)).unwrap().claim;
    assert_eq!((second.tick, second.due_at), (11, at(70_000)));
    assert_eq!(second.origin, at(10_000));
}

#[test]
fn a_refusal_is_understood() {
    let config = rate();
    let mut view = LedgerView::open(&config, token(5), at(700), None).unwrap();
    let claim = view.next(at(700)).unwrap().claim;
    let ours = view.refused(&claim, entry(&config, 0, 300, 5)).unwrap();
    assert_eq!(ours, Refusal::Ours, "the answer was lost");
    let newer = view.refused(&claim, entry(&config, 0, 300, 6)).unwrap();
    assert_eq!(newer, Refusal::Newer);
    let behind = view.refused(&claim, entry(&config, 3, 3_300, 4)).unwrap();
    assert_eq!(behind, Refusal::Behind);
    let next = view.next(at(3_400)).unwrap().claim;
    assert_eq!(next.tick, 4);
    assert_eq!(next.origin, at(0), "the origin is the ledger's");
}

/// Leaders come, run, crash at every point and go; the ledger is kept by its
/// own rules. Whatever happens, ticks rise and are started once.
#[test]
fn leaders_that_crash_anywhere_start_each_tick_once_and_in_order() {
    for seed in 0..2_000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let misfire = [Misfire::Skip, Misfire::Once, Misfire::Burst][rng.usize(0..3)];
        let mut config = rate().with_misfire(misfire);
        if rng.bool() {
            config = config.with_rerun_of_unfinished();
        }
        let mut ledger: Option<LedgerEntry> = None;
        let mut starts: BTreeMap<u64, u32> = BTreeMap::new();
        let mut unfinished: Option<u64> = None;
        let mut now = rng.u64(0..10_000);
        for leader in 1..12 {
            let mut view =
                LedgerView::open(&config, token(leader), at(now), ledger.clone()).unwrap();
            assert_eq!(view.unfinished().map(|entry| entry.last_tick), unfinished);
            for _ in 0..rng.u32(0..6) {
                let next = view.next(at(now)).unwrap();
                now = now.max(next.claim.due_at.as_millis()) + rng.u64(0..20);
                let case = format!("seed {seed}, leader {leader}, {:?}", next.claim);
                assert!(next.claim.fits(ledger.as_ref(), token(leader)), "{case}");
                if let Some(last) = &ledger {
                    let steps = next.claim.tick - last.last_tick;
                    let due = last.due_at.as_millis() + steps * PERIOD;
                    assert_eq!(next.claim.due_at, at(due), "on the grid: {case}");
                    if misfire == Misfire::Burst {
                        assert!(steps <= 1, "none is left out: {case}");
                    }
                    assert_eq!(next.claim.again, steps == 0, "{case}");
                }
                if next.claim.again {
                    assert_eq!(Some(next.claim.tick), unfinished, "{case}");
                }
                ledger = Some(LedgerEntry::claimed(&next.claim, token(leader)));
                unfinished = Some(next.claim.tick);
                view.claimed(&next.claim);
                if rng.u32(0..10) == 0 {
                    break; // dies between claim and run
                }
                *starts.entry(next.claim.tick).or_default() += 1;
                now += rng.u64(0..2 * PERIOD);
                if rng.u32(0..10) == 0 {
                    break; // dies in the run
                }
                let end = TickEnd::new(next.claim.tick, rng.bool());
                view.finished(end, at(now));
                let last = ledger.as_mut().unwrap();
                (last.state, last.finished_at) = (end.state(), Some(at(now)));
                unfinished = None;
            }
            now += rng.u64(0..5 * PERIOD);
        }
        let most = starts.values().max().copied().unwrap_or(0);
        assert!(
            config.reruns_unfinished() || most <= 1,
            "seed {seed}: {starts:?}"
        );
    }
}
