//! [`InHand`]: whether the user of a contention has its grant in hand.
//!
//! A store grants to a bid, and a bid belongs to a future that may live on
//! without being polled. What is won for it is not renewed before it has picked
//! it up: otherwise the whole fleet would wait for a task that does not know.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Moment;
use crate::model::LeaseTerms;

/// Its user has it in hand.
const HELD: u64 = 0;
/// It was taken back.
const GONE: u64 = u64::MAX;

/// In hand, taken back, or offered until a moment.
#[derive(Debug)]
pub(super) struct InHand {
    /// [`HELD`], [`GONE`], or the moment from which an offer may be taken back.
    state: AtomicU64,
}

/// What became of a grant whose renewal is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PickUp {
    /// Its user has it in hand.
    Held,
    /// It was put down a moment ago: look again then.
    Wait(Moment),
    /// It was not picked up, and now cannot be.
    Gone,
}

/// How long a grant that was put down shortly before its renewal lies there: a
/// renewal can be put off by this much without risk.
pub(super) fn patience(terms: &LeaseTerms) -> Duration {
    (terms.renew_after() / 8).min(terms.transition() / 4)
}

impl InHand {
    /// Offered at `now`: for so long it is not taken back.
    pub(super) fn offered(patience: Duration, now: Moment) -> Self {
        let in_hand = Self {
            state: AtomicU64::new(HELD),
        };
        in_hand.put_down(patience, now);
        in_hand
    }

    /// Takes it in hand: false when it is gone.
    pub(super) fn pick_up(&self) -> bool {
        let taken = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state != GONE).then_some(HELD)
            });
        taken.is_ok()
    }

    /// Offers it to the next, likewise.
    pub(super) fn put_down(&self, patience: Duration, now: Moment) {
        let from = (now + patience).as_nanos().clamp(HELD + 1, GONE - 1);
        let _ = self
            .state
            .compare_exchange(HELD, from, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Takes back what was not picked up; false when its user has it.
    pub(super) fn take_back(&self) -> bool {
        let taken = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state != HELD).then_some(GONE)
            });
        taken.is_ok()
    }

    /// Whether its user has it in hand.
    pub(super) fn is_held(&self) -> bool {
        self.state.load(Ordering::Acquire) == HELD
    }

    /// Its renewal is due: a user who has not picked it up by now does not get it.
    pub(super) fn pick_up_or_return(&self, now: Moment) -> PickUp {
        let state = self.state.load(Ordering::Acquire);
        match state {
            HELD => PickUp::Held,
            GONE => PickUp::Gone,
            from if now.as_nanos() < from => PickUp::Wait(Moment::from_nanos(from)),
            from => {
                let swap =
                    self.state
                        .compare_exchange(from, GONE, Ordering::AcqRel, Ordering::Acquire);
                match swap {
                    Ok(_) => PickUp::Gone,
                    // Picked up, or picked up and put down, at this moment.
                    Err(_) => PickUp::Held,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_nanos(10);

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    #[test]
    fn what_is_picked_up_is_held_and_cannot_be_returned() {
        let in_hand = InHand::offered(PATIENCE, at(100));
        assert!(in_hand.pick_up() && in_hand.pick_up());
        assert_eq!(in_hand.pick_up_or_return(at(1_000)), PickUp::Held);
    }

    #[test]
    fn what_lies_there_is_returned_after_a_while_for_good() {
        let in_hand = InHand::offered(PATIENCE, at(100));
        assert_eq!(in_hand.pick_up_or_return(at(109)), PickUp::Wait(at(110)));
        assert_eq!(in_hand.pick_up_or_return(at(110)), PickUp::Gone);
        in_hand.put_down(PATIENCE, at(111));
        assert!(!in_hand.pick_up(), "it has gone back");
        assert_eq!(in_hand.pick_up_or_return(at(112)), PickUp::Gone);
    }

    #[test]
    fn it_can_be_put_down_again() {
        let in_hand = InHand::offered(PATIENCE, at(0));
        assert!(in_hand.pick_up());
        in_hand.put_down(PATIENCE, at(200));
        assert_eq!(in_hand.pick_up_or_return(at(205)), PickUp::Wait(at(210)));
        assert!(in_hand.pick_up());
        assert_eq!(in_hand.pick_up_or_return(at(300)), PickUp::Held);
    }

    #[test]
    fn either_it_is_picked_up_or_it_goes_back() {
        for _ in 0..2_000 {
            let in_hand = InHand::offered(Duration::ZERO, at(1));
            let (taken, word) = std::thread::scope(|scope| {
                let taking = scope.spawn(|| in_hand.pick_up());
                let word = in_hand.pick_up_or_return(at(2));
                (taking.join().unwrap(), word)
            });
            let expected = if taken { PickUp::Held } else { PickUp::Gone };
            assert_eq!(word, expected);
        }
    }
}
