//! [`CallUnderWay`]: a call to the store that has begun.

use std::task::{Context, Poll};
use std::time::Duration;

use super::event::{Call, Event};
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
    over_at: Moment,
}

enum Answering {
    Acquire(Boxed<'static, Result<Answer>>),
    Release(Boxed<'static, Result<Answer>>),
    Leave(Boxed<'static, Result<()>>),
}

impl CallUnderWay {
    pub(super) fn begin(backend: &AnyBackend, call: Call, limit: Duration, now: Moment) -> Self {
        let answer = match call {
            Call::Acquire(bid) => Answering::Acquire(backend.begin_acquire(bid)),
            Call::Release(held) => Answering::Release(backend.begin_release(held)),
            Call::Leave(bid) => Answering::Leave(backend.begin_leave(bid)),
        };
        Self {
            answer,
            limit,
            over_at: now + limit,
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

    /// The moment after which no answer is waited for.
    pub(super) fn over_at(&self) -> Moment {
        self.over_at
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
