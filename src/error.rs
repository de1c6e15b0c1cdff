//! [`Error`]: what went wrong, what it was about, and what can be done.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::model::{ContenderId, FencingToken, MutexName};

/// A result with Tenure's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for code to match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's input breaks a rule; the message says which.
    Invalid,
    /// The store cannot be reached.
    Unreachable,
    /// The store did not answer in time.
    Timeout,
    /// The store refused the credentials or lacks a permission.
    Denied,
    /// Something that must be set up first is missing: a table, a row, a root.
    NotFound,
    /// Another user of the store stands in the way for good.
    Conflict,
    /// Ownership had ended before.
    Lost,
    /// The lease ran out before the store confirmed.
    Unconfirmed,
    /// The coordinator or service has been closed.
    Closed,
    /// The call does not fit the state the object is in.
    WrongState,
    /// The store answered with an error of its own, or with nonsense.
    Store,
}

impl ErrorKind {
    /// The same as one word, as logs and metrics have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Denied => "denied",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Lost => "lost",
            Self::Unconfirmed => "unconfirmed",
            Self::Closed => "closed",
            Self::WrongState => "wrong_state",
            Self::Store => "store",
        }
    }
}

/// Whether the failed operation took effect in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It did not happen.
    DidNot,
    /// It happened, and what followed failed.
    Did,
    /// The client cannot know: the request may have arrived.
    MayHave,
}

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Not without a person changing something.
    Never,
    /// At once: a deadlock victim, a lost race.
    AtOnce,
    /// After a pause: the store may recover.
    Later,
}

/// The one error of this crate.
///
/// It knows its [`kind`](Self::kind), whether the operation may have
/// [happened](Self::outcome), whether a [retry](Self::retry) can help, which
/// mutex and contender it was about, and keeps the driver's error as its
/// source. It never contains a password.
///
/// A store of your own builds its errors the same way:
///
/// ```
/// use tenure::{Error, ErrorKind, Outcome, Retry};
///
/// let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
/// let error = Error::new(ErrorKind::Unreachable, Outcome::MayHave)
///     .with_message("the store closed the connection")
///     .with_source(reset);
/// assert_eq!(error.retry(), Retry::Later);
/// assert!(error.may_have_happened());
/// ```
#[derive(Clone)]
pub struct Error(Box<ErrorParts>);

#[derive(Clone)]
struct ErrorParts {
    kind: ErrorKind,
    outcome: Outcome,
    retry: Retry,
    message: Option<Cow<'static, str>>,
    mutex: Option<MutexName>,
    contender: Option<ContenderId>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` after an operation with this `outcome`.
    #[must_use]
    pub fn new(kind: ErrorKind, outcome: Outcome) -> Self {
        use ErrorKind::{Store, Timeout, Unconfirmed, Unreachable};
        let retry = match kind {
            Unreachable | Timeout | Store | Unconfirmed => Retry::Later,
            _ => Retry::Never,
        };
        Self(Box::new(ErrorParts {
            kind,
            outcome,
            retry,
            message: None,
            mutex: None,
            contender: None,
            source: None,
        }))
    }

    /// Bad input, with a message that says what would be right.
    #[must_use]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, Outcome::DidNot).with_message(message)
    }

    /// What is there contradicts what was asked for.
    pub(crate) fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Conflict, Outcome::DidNot).with_message(message)
    }

    /// It cannot be done here, or not now.
    pub(crate) fn wrong_state(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::WrongState, Outcome::DidNot).with_message(message)
    }

    /// A call on something that has been closed; `what` begins the sentence.
    pub(crate) fn closed(what: &str) -> Self {
        Self::new(ErrorKind::Closed, Outcome::DidNot)
            .with_message(format!("{what} has been closed"))
    }

    /// An answer that did not come in time; `who` begins the sentence.
    pub(crate) fn late(
        kind: ErrorKind,
        who: impl fmt::Display,
        limit: std::time::Duration,
        outcome: Outcome,
    ) -> Self {
        Self::new(kind, outcome).with_message(format!("{who} did not answer within {limit:?}"))
    }

    /// The same error with a message for people.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = Some(message.into());
        self
    }

    /// The same error with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The same error with other advice on retrying than its kind's.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// The same error of something that may have happened all the same.
    #[cfg(feature = "zookeeper")]
    pub(crate) fn of_what_may_have_happened(mut self) -> Self {
        if self.0.outcome == Outcome::DidNot {
            self.0.outcome = Outcome::MayHave;
        }
        self
    }

    /// The same error, about this mutex.
    #[must_use]
    pub fn with_mutex(mut self, mutex: &MutexName) -> Self {
        self.0.mutex = Some(mutex.clone());
        self
    }

    /// The same error, about this contender.
    #[must_use]
    pub fn with_contender(mut self, contender: &ContenderId) -> Self {
        self.0.contender = Some(contender.clone());
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the operation took effect.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Whether the operation took or may have taken effect.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        self.0.outcome != Outcome::DidNot
    }

    /// Whether trying again can help.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// The mutex it was about.
    #[must_use]
    pub fn mutex(&self) -> Option<&MutexName> {
        self.0.mutex.as_ref()
    }

    /// The contender it was about.
    #[must_use]
    pub fn contender(&self) -> Option<&ContenderId> {
        self.0.contender.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.message {
            Some(message) => f.write_str(message)?,
            None => f.write_str(self.0.kind.plain())?,
        }
        match (&self.0.mutex, &self.0.contender) {
            (Some(mutex), Some(contender)) => {
                write!(f, " (mutex {mutex:?}, contender {contender:?})")
            }
            (Some(mutex), None) => write!(f, " (mutex {mutex:?})"),
            (None, Some(contender)) => write!(f, " (contender {contender:?})"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind)
            .field("outcome", &self.0.outcome);
        out.field("message", &self.to_string());
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as _)
    }
}

impl ErrorKind {
    fn plain(self) -> &'static str {
        match self {
            Self::Invalid => "the input is not valid",
            Self::Unreachable => "the store cannot be reached",
            Self::Timeout => "the store did not answer in time",
            Self::Denied => "the store denied access",
            Self::NotFound => "something that must be set up first is missing in the store",
            Self::Conflict => "another user of the store stands in the way",
            Self::Lost => "ownership had ended before",
            Self::Unconfirmed => "the lease ran out before the store confirmed",
            Self::Closed => "it has been closed",
            Self::WrongState => "the call does not fit the state",
            Self::Store => "the store answered with an error",
        }
    }
}

/// Why a tenure ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LossCause {
    /// The local deadline passed without a confirmed renewal.
    Deadline,
    /// The store says that the grant is gone or another owner's.
    Taken,
    /// It was given back.
    Released,
    /// The coordinator was closed.
    Closed,
    /// Its user did not pick it up: the future that won it was not polled, or the
    /// event that told of it not read, until its first renewal was due.
    Unclaimed,
    /// The wall clock went ahead of the clock that measures the lease, as it
    /// does after this machine was frozen: more time may have passed than was
    /// counted.
    ClockJump,
    /// This process is a fork of the one that owns.
    Forked,
}

impl LossCause {
    /// The same as one word, as logs and metrics have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Taken => "taken",
            Self::Released => "released",
            Self::Closed => "closed",
            Self::Unclaimed => "unclaimed",
            Self::ClockJump => "clock_jump",
            Self::Forked => "forked",
        }
    }

    fn plain(self) -> &'static str {
        match self {
            Self::Deadline => "its deadline passed without a confirmed renewal",
            Self::Taken => "the store has given it to another",
            Self::Released => "it was released",
            Self::Closed => "the coordinator was closed",
            Self::Unclaimed => "nobody picked it up in time, and it was given back",
            Self::ClockJump => "the clock jumped, so this machine may have stood still",
            Self::Forked => "this process is a fork of the one that owns",
        }
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plain())
    }
}

/// A tenure has ended; nothing may be done in its name any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseLost {
    /// What was owned.
    pub mutex: MutexName,
    /// The token of the tenure that ended; a combination lock has none.
    pub token: Option<FencingToken>,
    /// Why it ended.
    pub cause: LossCause,
}

impl LeaseLost {
    /// The end of a tenure of `mutex`.
    #[must_use]
    pub fn new(mutex: MutexName, token: Option<FencingToken>, cause: LossCause) -> Self {
        Self {
            mutex,
            token,
            cause,
        }
    }

    /// The same without the token, where that is only the engine's own number.
    pub(crate) fn without_token(self) -> Self {
        Self {
            token: None,
            ..self
        }
    }
}

impl fmt::Display for LeaseLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mutex, why) = (&self.mutex, self.cause.plain());
        match self.token {
            Some(token) => write!(
                f,
                "the tenure of {mutex:?} with token {token} is over: {why}"
            ),
            None => write!(f, "{mutex:?} is held no more: {why}"),
        }
    }
}

impl std::error::Error for LeaseLost {}

impl From<LeaseLost> for Error {
    fn from(lost: LeaseLost) -> Self {
        let why = lost.cause.plain();
        let message = match lost.token {
            Some(token) => format!("the tenure with token {token} is over: {why}"),
            None => format!("the lock is held no more: {why}"),
        };
        Self::new(ErrorKind::Lost, Outcome::DidNot)
            .with_message(message)
            .with_mutex(&lost.mutex)
            .with_source(lost)
    }
}
