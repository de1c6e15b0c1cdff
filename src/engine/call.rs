//! [`CallUnderWay`]: the call to the store that a driver has begun.

use std::task::{Context, Poll};
use std::time::Duration;

use super::event::{Call, Event};
use super::slot::PolledBy;
use super::wake;
use crate::backend::{Answer, AnyBackend, Boxed};
use crate::clock::{Clock, Moment};
use crate::error::Result;

/// How long a caller's own future drives a call: one that is not polled must
/// not keep a connection from others.
const PATIENCE: Duration = Duration::from_millis(50);

/// A call to the store, and how long it may take. It borrows nothing: the caller
/// or the task that drives the contention polls it, and the other can go on.
pub(super) struct CallUnderWay {
    answer: Answering,
    limit: Duration,
    /// After this no answer is waited for.
    over_at: Moment,
    /// Whether it has been rung for since then.
    is_told: bool,
}

enum Answering {
    Acquire(Boxed<'static, Result<Answer>>),
    Release(Boxed<'static, Result<Answer>>),
    Leave(Boxed<'static, Result<()>>),
}

impl CallUnderWay {
    #[inline]
    pub(super) fn begin(backend: &AnyBackend, call: Call, limit: Duration, now: Moment) -> Self {
        let answer = match call {
            Call::Acquire(bid) => Answering::Acquire(backend.begin_acquire(bid)),
            Call::Release {
                bid,
                token,
                is_last,
            } => Answering::Release(backend.begin_release(bid, token, is_last)),
            Call::Leave(bid) => Answering::Leave(backend.begin_leave(bid)),
        };
        Self {
            answer,
            limit,
            over_at: now + limit,
            is_told: false,
        }
    }

    /// What it is counted as.
    pub(super) fn operation(&self) -> &'static str {
        match self.answer {
            Answering::Acquire(_) => "acquire",
            Answering::Release(_) => "release",
            Answering::Leave(_) => "leave",
        }
    }

    /// The moment by which a caller that polls it itself should have come
    /// back: it may keep what other calls need.
    pub(super) fn is_caller_wanted_by(&self) -> Moment {
        self.over_at - self.limit + self.limit.min(PATIENCE)
    }

    /// When to ring for it; not again when it has had its time.
    pub(super) fn rings_at(&self, polled_by: PolledBy) -> Option<Moment> {
        let at = match polled_by {
            PolledBy::Caller => self.is_caller_wanted_by(),
            PolledBy::Nobody | PolledBy::Task => self.over_at,
        };
        (!self.is_told).then_some(at)
    }

    /// The roster has rung at `now`.
    pub(super) fn is_rung(&mut self, now: Moment) {
        self.is_told |= self.over_at <= now;
    }

    /// What the store answers, or that it does not.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, clock: &Clock) -> Poll<Event> {
        let answered = match &mut self.answer {
            Answering::Acquire(call) => call.as_mut().poll(cx).map(Event::Acquired),
            Answering::Release(call) => call.as_mut().poll(cx).map(Event::Released),
            Answering::Leave(call) => call.as_mut().poll(cx).map(Event::Left),
        };
        if answered.is_pending() && clock.now() >= self.over_at {
            return Poll::Ready(self.late());
        }
        answered
    }

    /// The answer that did not come: what was asked for may still happen.
    fn late(&self) -> Event {
        let late = wake::late(self.limit);
        match self.answer {
            Answering::Acquire(_) => Event::Acquired(Err(late)),
            Answering::Release(_) => Event::Released(Err(late)),
            Answering::Leave(_) => Event::Left(Err(late)),
        }
    }
}
