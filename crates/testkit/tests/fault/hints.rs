//! What befalls hints.

use std::time::Duration;

use tenure::backend::{Backend, Hint, Hints, Interest};
use tenure::stores::memory::Memory;
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{FaultBackend, Faults, HintFault};

use crate::{bid, store, won};

/// All hints that have come by now.
async fn heard(hints: &mut Hints) -> Vec<Hint> {
    let mut heard = Vec::new();
    let step = Duration::from_millis(1);
    while let Ok(Some(hint)) = tokio::time::timeout(step, hints.next()).await {
        heard.push(hint);
    }
    heard
}

/// An observer, and one change of owner for it to hear of.
async fn change(fault: HintFault) -> (Faults, FaultBackend<Memory>, Hints) {
    let (faults, store) = store();
    let hints = store.changes(&Interest::in_owner(&bid("m").name));
    faults.next_hint(fault);
    won(&store, &bid("m")).await;
    (faults, store, hints)
}

#[tokio::test(start_paused = true)]
async fn hints_can_be_lost_doubled_or_announced() {
    for (fault, expected) in [
        (HintFault::None, &[Hint::Changed][..]),
        (HintFault::Lose, &[]),
        (HintFault::Double, &[Hint::Changed, Hint::Changed]),
        (HintFault::Resume, &[Hint::Resumed, Hint::Changed]),
    ] {
        let (_faults, _store, mut hints) = change(fault).await;
        assert_eq!(heard(&mut hints).await, expected, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_hint_comes_late() {
    let (_faults, _store, mut hints) = change(HintFault::Delay(Duration::from_secs(9))).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(hints.next().await, Some(Hint::Changed));
    assert_eq!(begun.elapsed(), Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn a_hint_can_come_after_the_next_one() {
    let (faults, store, mut hints) = change(HintFault::Reorder).await;
    assert_eq!(heard(&mut hints).await, [], "it waits for another");
    faults.next_hint(HintFault::Resume);
    store.inner().revoke(&bid("m").name, None).await.unwrap();
    let both = heard(&mut hints).await;
    assert_eq!(both, [Hint::Resumed, Hint::Changed, Hint::Changed]);
}

#[tokio::test(start_paused = true)]
async fn hints_can_come_out_of_nowhere() {
    let (faults, store) = store();
    let mut hints = store.changes(&Interest::in_owner(&bid("m").name));
    let mut others = store.changes(&Interest::in_owner(&bid("other").name));
    faults.inject(&bid("m").name, Hint::Resumed);
    assert_eq!(heard(&mut hints).await, [Hint::Resumed]);
    assert_eq!(heard(&mut others).await, []);
}

#[tokio::test(start_paused = true)]
async fn all_hints_can_be_lost_until_healed() {
    let (faults, store) = store();
    let mut hints = store.changes(&Interest::in_owner(&bid("m").name));
    faults.all_hints(HintFault::Lose);
    won(&store, &bid("m")).await;
    assert_eq!(heard(&mut hints).await, []);
    faults.heal();
    store.inner().revoke(&bid("m").name, None).await.unwrap();
    assert_eq!(heard(&mut hints).await, [Hint::Changed]);
}
