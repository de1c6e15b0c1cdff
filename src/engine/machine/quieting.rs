//! The tenure is over; the local side has been told and has not ended yet.

use super::super::event::{Effect, Finish, GivenBack};
use super::freeing::Freeing;
use super::machine::{Course, MachineState};
use super::owning::Grant;
use crate::clock::Moment;
use crate::error::LossCause;

#[derive(Debug)]
pub(super) struct Quieting {
    grant: Grant,
    cause: LossCause,
    /// Until when to wait for the local side, once stopped.
    until: Option<Moment>,
}

impl Quieting {
    pub(super) fn new(grant: Grant, cause: LossCause, until: Option<Moment>) -> Self {
        Self {
            grant,
            cause,
            until,
        }
    }

    pub(super) fn wake_at(&self) -> Option<Moment> {
        self.until
    }

    pub(super) fn stopped(mut self, course: &Course, now: Moment) -> MachineState {
        self.until = Some(now + course.settings.quiesce);
        MachineState::Quieting(self)
    }

    pub(super) fn woken(self, course: &mut Course, now: Moment) -> MachineState {
        if self.until.is_some_and(|until| now >= until) {
            return course.finish(Finish::StillRunning);
        }
        MachineState::Quieting(self)
    }

    /// The local side has ended.
    pub(super) fn quiesced(self, course: &mut Course, now: Moment) -> MachineState {
        let then = course.then(Finish::Lost(self.cause));
        if self.cause == LossCause::Taken || now >= self.grant.lease_over {
            if self.grant.orphan {
                course.tidy_later(self.grant.bid, &then);
            }
            course.want(Effect::GivenBack(GivenBack::Lost(self.cause)));
            return course.go_on(now, then);
        }
        Freeing::release(course, now, self.grant, then)
    }
}
