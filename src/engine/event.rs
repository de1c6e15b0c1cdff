//! What goes into a machine, what comes out of it, and what its user hears.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::contention::Quiescer;
use super::store_clock::ClockReading;
use super::tenure::{OwnEnd, Tenure};
use crate::backend::{Answer, Bid, Hint, Nonce};
use crate::clock::{Moment, Sight};
use crate::error::{Error, LossCause, Result};
use crate::model::{FencingToken, MutexOwner};

/// Why a contention is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its user wants it.
    Wanted,
    /// The coordinator closes.
    Closed,
    /// Its user wants no other tenure; the present one goes on while its holder
    /// likes.
    LastTenure,
}

impl Stop {
    pub(crate) fn cause(self) -> LossCause {
        match self {
            Self::Wanted | Self::LastTenure => LossCause::Released,
            Self::Closed => LossCause::Closed,
        }
    }
}

/// What happens to a machine.
#[derive(Debug)]
pub(crate) enum Event {
    /// The moment it asked for has come.
    Timer,
    /// The answer to its [`Call::Acquire`].
    Acquired(Result<Answer>),
    /// The answer to its [`Call::Release`].
    Released(Result<Answer>),
    /// The answer to its [`Call::Leave`].
    Left(Result<()>),
    /// The renewal of the grant of this nonce, sent at `sent` among `batch`
    /// others, has ended.
    Renewed {
        nonce: Nonce,
        sent: Sight,
        batch: usize,
        result: Result<Answer>,
    },
    /// The renewal of the grant of this nonce was due, and the user has not
    /// picked the grant up. It was put down a moment ago, and is looked at again
    /// at `until`; or it can be picked up no more.
    Unclaimed {
        nonce: Nonce,
        until: Option<Moment>,
    },
    /// The user who did not pick up what was won in this tenure is there again.
    /// It may come before the word that the user was not.
    Attended {
        tenure_number: u64,
    },
    /// The tenure was seen to be over by a look at the clock, or
    /// its holder has held it for too long.
    Expired {
        tenure_number: u64,
    },
    /// The holder of the tenure has this limit. Only the driver's: it looks at the
    /// limit when it looks at the clock.
    Limited(Arc<OwnEnd>),
    Hint(Hint),
    Stop(Stop),
    /// Its user has gone: [`Stop::Wanted`], and the local side has ended. One
    /// event, so that nothing comes in between.
    Abandoned,
    /// The local side of the tenure has ended.
    Quiesced {
        tenure_number: u64,
    },
}

impl Event {
    /// Whether it is what the store says to a call.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Acquired(_) | Self::Released(_) | Self::Left(_))
    }

    /// Why the store did not do what it was asked to.
    pub(super) fn failure(&self) -> Option<&Error> {
        match self {
            Self::Acquired(answer) | Self::Released(answer) => answer.as_ref().err(),
            Self::Left(answer) => answer.as_ref().err(),
            _ => None,
        }
    }
}

/// A call to the store; a machine has one at a time.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Acquire(Arc<Bid>),
    /// Of what the bid has won.
    Release {
        bid: Arc<Bid>,
        /// What it was won under.
        token: FencingToken,
        /// Whether its contender wants nothing more.
        is_last: bool,
    },
    Leave(Arc<Bid>),
}

impl Call {
    /// What is told of a call that failed.
    pub(super) fn failed(&self, error: Error) -> Event {
        match self {
            Self::Acquire(_) => Event::Acquired(Err(error)),
            Self::Release { .. } => Event::Released(Err(error)),
            Self::Leave(_) => Event::Left(Err(error)),
        }
    }
}

/// What a machine wants done.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Make this call and give it up after the limit.
    Call(Call, Duration),
    /// Forget the call under way.
    DropCall,
    /// Renew at `at`, or a little earlier in company, at most `max_batch`
    /// together.
    Renew {
        at: Moment,
        deadline: Moment,
        max_batch: usize,
    },
    /// Withdraw the renewal.
    StopRenewing,
    Subscribe,
    Unsubscribe,
    /// A tenure begins.
    Begin {
        tenure_number: u64,
        bid: Arc<Bid>,
        token: FencingToken,
        owner: MutexOwner,
        deadline: Moment,
        reading: ClockReading,
    },
    /// The tenure is renewed.
    Extend {
        deadline: Moment,
        reading: ClockReading,
    },
    /// Let the local side end, and say [`Event::Quiesced`] when it has. Once
    /// per tenure.
    Quiesce {
        tenure_number: u64,
        cause: LossCause,
    },
    /// The tenure is over.
    End(LossCause),
    /// Another owns, or the mutex is free.
    Observe(MutexOwner),
    /// Something failed that will be tried again.
    Trouble(Error),
    /// Undo the bid once more after a while: one of its requests may still be
    /// on its way.
    TidyLater(Arc<Bid>),
    /// What was won has been given back, or cannot be any more.
    GivenBack(GivenBack),
    /// The last word.
    Finish(Finish),
}

/// What came of giving a grant back to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenBack {
    /// The store confirmed it.
    Confirmed,
    /// It had been lost before.
    Lost(LossCause),
    /// The lease ran out before the store confirmed.
    Unconfirmed,
}

/// How a contention ended.
#[derive(Debug)]
pub(crate) enum Finish {
    /// It was stopped, or tried once, without owning.
    NotOwner,
    /// An error that no retry can help.
    Failed(Error),
    /// It owned, and the store confirmed the release.
    Released,
    /// It owned, and had lost before it could release.
    Lost(LossCause),
    /// It owned, and the lease ran out before the store confirmed.
    Unconfirmed,
    /// It owned, and something local still runs: nothing was released.
    StillRunning,
}

/// A function that notices are told to: must be quick and must not panic.
pub(crate) type Tell = Box<dyn FnMut(Notice) + Send>;

/// Where a contention's notices go. Called by the thread that brings an event,
/// one at a time: must be quick and must not panic.
pub(crate) enum Sink {
    Tell(Tell),
    Shared(Arc<dyn Listener>),
}

impl Sink {
    pub(super) fn tell(&mut self, notice: Notice) {
        match self {
            Self::Tell(tell) => tell(notice),
            Self::Shared(listener) => listener.hear(notice),
        }
    }

    /// Whether there is nothing to wait for when it is told to end.
    pub(super) fn ends_at_once(&self, cause: LossCause) -> bool {
        matches!(self, Self::Shared(listener) if listener.ends_at_once(cause))
    }

    /// No last word will come.
    pub(super) fn cut_off(&mut self) {
        if let Self::Shared(listener) = self {
            listener.cut_off();
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

/// One who hears what becomes of a contention.
pub(crate) trait Listener: Send + Sync {
    fn hear(&self, notice: Notice);

    /// Whether there is nothing to wait for when it is told to end for `cause`:
    /// it need not say that it has.
    fn ends_at_once(&self, cause: LossCause) -> bool;

    /// The contention has ended without a last word, with the runtime.
    fn cut_off(&self);
}

/// What the user of a contention hears.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A tenure begins; its holder says when the local side has ended.
    Began(Tenure, MutexOwner, Quiescer),
    /// The local side must end, and say when it has.
    Quiesce(LossCause, Quiescer),
    /// Another owns, or the mutex is free.
    Observed(MutexOwner),
    /// Something failed that will be tried again.
    Trouble(Error),
    /// The last word.
    Finished(Finish),
}
