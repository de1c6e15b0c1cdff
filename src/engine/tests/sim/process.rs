//! One simulated process: a machine, its clock, and what it has under way.

use std::collections::VecDeque;
use std::time::Duration;

use super::judge::True;
use super::world::Of;
use crate::backend::Held;
use crate::clock::Moment;
use crate::engine::event::Event;
use crate::engine::machine::Machine;
use crate::model::ContenderId;

#[derive(Debug)]
pub(super) struct Process {
    pub(super) machine: Machine,
    pub(super) id: ContenderId,
    /// Counts the calls; the answer to a call that was dropped is not heard.
    pub(super) call: u64,
    /// What it has won last: the driver renews the grant of the lease.
    pub(super) held: Option<Held>,
    /// Counts the renewals, likewise.
    pub(super) renewal: u64,
    /// The last of them that was answered.
    pub(super) answered: u64,
    /// Counts the timers that were set; only the last one rings.
    pub(super) timer: u64,
    pub(super) is_dead: bool,
    pub(super) is_paused: bool,
    /// What arrives while it is paused.
    pub(super) backlog: VecDeque<(Event, Option<Of>)>,
    pub(super) is_cut_off: Cut,
    /// Local work that never ends when it is told to.
    pub(super) is_stuck: bool,
    pub(super) owes_quiesce: Option<u64>,
    /// Has won, and its user has not picked it up.
    pub(super) is_unclaimed: bool,
    /// How fast its clock runs.
    pub(super) speed: f64,
}

/// Which way messages do not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    None,
    Out,
    In,
    Both,
}

impl Cut {
    pub(super) fn out(self) -> bool {
        matches!(self, Self::Out | Self::Both)
    }

    pub(super) fn into(self) -> bool {
        matches!(self, Self::In | Self::Both)
    }
}

impl Process {
    /// What its clock shows at the true time `now`.
    pub(super) fn moment(&self, now: True) -> Moment {
        moment(now, self.speed)
    }

    /// When, in truth, its clock shows `at`.
    pub(super) fn truly(&self, at: Moment) -> True {
        let mut now = (at.as_nanos() as f64 / self.speed).ceil() as True;
        // Rounded to before it: a timer would ring for ever.
        while self.moment(now) < at {
            now += 1;
        }
        now
    }

    /// How long, in truth, its clock takes for `length`.
    pub(super) fn true_length(&self, length: Duration) -> True {
        (length.as_nanos() as f64 / self.speed) as True
    }
}

pub(super) fn moment(now: True, speed: f64) -> Moment {
    Moment::from_nanos((now as f64 * speed) as u64)
}
