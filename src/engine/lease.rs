//! [`Lease`]: what all views of a tenure share. It ends by the clocks of this
//! machine, at whichever view looks first.

use std::sync::Arc;

use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

use super::birth::Birth;
use super::event::GivenBack;
use super::in_hand::{InHand, patience};
use super::jump::Jump;
use super::said_once::SaidOnce;
use super::store_clock::{ClockReading, EstimatedStoreClock};
use crate::backend::{Bid, Held};
use crate::clock::{Clock, Moment, Sight};
use crate::error::LossCause;
use crate::model::FencingToken;
use crate::sync::Mutex;

/// The deadline in nanoseconds of the clock; zero: over.
const OVER: u64 = 0;

/// What all views of a tenure share.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The bid that won it, which the machine has too.
    pub(super) bid: Arc<Bid>,
    /// The first token of the grant.
    token: FencingToken,
    /// When the store was heard to have granted it.
    pub(super) granted_at: Moment,
    pub(super) clock: Clock,
    pub(super) store_clock: Mutex<EstimatedStoreClock>,
    pub(super) deadline: AtomicU64,
    pub(super) cause: SaidOnce<LossCause>,
    /// Why it has ended for its first holder alone: see [`Tenure`](super::Tenure).
    pub(super) first_ended: SaidOnce<LossCause>,
    pub(super) in_hand: InHand,
    jump: Jump,
    birth: Birth,
    /// When it was last seen to be in the process that won it; nanoseconds of
    /// the clock.
    at_home: AtomicU64,
    /// Why it is to end, once its end has been asked for.
    pub(super) asked: SaidOnce<LossCause>,
    /// Rung when any of this has changed, and when the deadline has moved.
    pub(super) changed: Notify,
    /// What came of giving it back, once that is over.
    pub(super) given_back: SaidOnce<GivenBack>,
}

impl Lease {
    /// A lease until `deadline`, by a request that was sent at `sent` in this
    /// process.
    #[inline]
    pub(super) fn begin(
        birth: Birth,
        (bid, token): (Arc<Bid>, FencingToken),
        clock: Clock,
        deadline: Moment,
        reading: ClockReading,
        sent: Sight,
    ) -> Self {
        let terms = bid.terms;
        Self {
            bid,
            token,
            granted_at: reading.heard_at,
            clock,
            store_clock: Mutex::new(EstimatedStoreClock::new(reading)),
            deadline: AtomicU64::new(deadline.as_nanos().max(1)),
            cause: SaidOnce::new(),
            first_ended: SaidOnce::new(),
            in_hand: InHand::offered(patience(&terms), reading.heard_at),
            jump: Jump::since(sent, terms.margin()),
            birth,
            at_home: AtomicU64::new(u64::MAX / 2), // never
            asked: SaidOnce::new(),
            changed: Notify::new(),
            given_back: SaidOnce::new(),
        }
    }

    /// What it is of, as the store knows it.
    pub(super) fn held(&self) -> Held {
        self.bid.held(self.token)
    }

    /// Its end is asked for: its holder is told, and it lasts on until the
    /// local side has ended.
    pub(crate) fn ask_to_end(&self, cause: LossCause) {
        if self.asked.say(cause) {
            self.changed.notify_waiters();
        }
    }

    /// It has been given back, or the engine no longer tries to.
    #[inline]
    pub(crate) fn is_given_back(&self, how: GivenBack) {
        if self.given_back.say(how) {
            self.changed.notify_waiters();
        }
    }

    /// Whether it is over, by the clocks or otherwise.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline().is_none()
    }

    /// Whether its end has been asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.is_said()
    }

    /// The moment at which it ends, if it is not over.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.look().map(|(deadline, _)| deadline)
    }

    /// The same, and what the clock showed when it was looked at.
    #[inline]
    pub(super) fn look(&self) -> Option<(Moment, Moment)> {
        loop {
            let deadline = self.deadline.load(Ordering::Acquire);
            if deadline == OVER {
                return None;
            }
            let moment = Moment::from_nanos(deadline);
            let sight = self.clock.look();
            let cause = if self.jump.is_seen(sight, &self.clock) {
                LossCause::ClockJump
            } else if self.is_forked(sight.now) {
                LossCause::Forked
            } else if sight.now < moment {
                return Some((moment, sight.now));
            } else {
                LossCause::Deadline
            };
            // The view that sees the deadline pass makes it final, so that a renewal
            // whose answer comes late cannot bring the tenure back.
            let swap =
                self.deadline
                    .compare_exchange(deadline, OVER, Ordering::AcqRel, Ordering::Acquire);
            if swap.is_ok() {
                self.settle(cause);
                return None;
            }
        }
    }

    /// It was seen at `at` to be in the process that won it.
    pub(super) fn is_seen_at_home(&self, at: Moment) {
        self.at_home.store(at.as_nanos(), Ordering::Relaxed);
    }

    /// Whether this is a copy in a fork. A system call, so it is not asked
    /// again within less time than a fork takes.
    fn is_forked(&self, now: Moment) -> bool {
        const BRIEFLY: u64 = 100_000;
        let now = now.as_nanos();
        let seen = self.at_home.load(Ordering::Relaxed);
        if now.wrapping_sub(seen) < BRIEFLY {
            return false;
        }
        let is_here = self.birth.is_here();
        if is_here {
            self.at_home.store(now, Ordering::Relaxed);
        }
        !is_here
    }

    /// Moves the deadline, for a renewal that was sent at `sent`; false when
    /// the tenure is over.
    pub(crate) fn extend(&self, deadline: Moment, sent: Sight) -> bool {
        self.jump.confirmed(sent);
        loop {
            let Some(present) = self.deadline() else {
                return false;
            };
            let swap = self.deadline.compare_exchange(
                present.as_nanos(),
                deadline.as_nanos().max(1),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if swap.is_ok() {
                self.changed.notify_waiters();
                return true;
            }
        }
    }

    /// Learns what the store's clock showed.
    pub(crate) fn read_clock(&self, reading: ClockReading) {
        self.store_clock.lock().take(reading);
    }

    /// Ends the tenure, unless it is over.
    #[inline]
    pub(crate) fn end(&self, cause: LossCause) {
        if self.deadline.swap(OVER, Ordering::AcqRel) != OVER {
            self.settle(cause);
        }
    }

    /// Only the thread that moved the deadline to `OVER` comes here.
    fn settle(&self, cause: LossCause) {
        self.cause.say(cause);
        self.changed.notify_waiters();
    }
}
