//! What a schedule runs, and how a run ends.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::tick::Tick;

/// The error of a failed run.
pub type JobError = Box<dyn std::error::Error + Send + Sync>;

/// The error of a run that was cut short: by a loss of ownership that it saw
/// coming, by a signal, by whatever else was not its own doing.
///
/// A run that returns it is neither done nor failed. Its tick stays without an
/// end, as if its leader had died in it, and is left out or run again by
/// [`with_rerun_of_unfinished`](super::ScheduleConfig::with_rerun_of_unfinished).
///
/// ```
/// use tenure::schedule::{JobError, Unfinished};
///
/// fn sweep(told_to_end: bool) -> Result<(), JobError> {
///     if told_to_end {
///         return Err(Unfinished::new("told to end").into());
///     }
///     Ok(())
/// }
/// assert!(sweep(true).unwrap_err().is::<Unfinished>());
/// ```
#[derive(Clone, Debug)]
pub struct Unfinished(Box<str>);

impl Unfinished {
    /// Cut short because of `why`.
    pub fn new(why: impl Into<Box<str>>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfinished {}

/// What a job may return: nothing, or a result without a value.
pub trait JobResult {
    /// Whether the run went well.
    ///
    /// # Errors
    /// What made it fail.
    fn into_result(self) -> Result<(), JobError>;
}

impl JobResult for () {
    fn into_result(self) -> Result<(), JobError> {
        Ok(())
    }
}

impl<E: Into<JobError>> JobResult for Result<(), E> {
    fn into_result(self) -> Result<(), JobError> {
        self.map_err(Into::into)
    }
}

/// Why a run failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(JobError),
    Panic(Box<str>),
    TimeLimit,
}

impl Failure {
    pub(crate) fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Self::Panic(text.into())
    }
}

/// A job in whatever shape.
pub(crate) trait Work {
    /// Runs once. Dropped, the run should end; it must have when
    /// [`ended`](Self::ended) returns.
    fn run(&mut self, tick: Tick) -> impl Future<Output = Result<(), Failure>>;

    /// Returns when no run of it is going on any more.
    fn ended(&mut self) -> impl Future<Output = ()>;
}

/// A job that is a future: dropped, it has ended.
pub(super) struct AsyncWork<F>(pub(super) F);

impl<F, Fut> Work for AsyncWork<F>
where
    F: FnMut(Tick) -> Fut,
    Fut: Future<Output: JobResult>,
{
    async fn run(&mut self, tick: Tick) -> Result<(), Failure> {
        let begun = catch_unwind(AssertUnwindSafe(|| (self.0)(tick)));
        let work = begun.map_err(|panic| Failure::panic(&*panic))?;
        Caught(Box::pin(work))
            .await?
            .into_result()
            .map_err(Failure::Error)
    }

    async fn ended(&mut self) {}
}

/// A future whose panic is a failure of its own.
struct Caught<F>(Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // The future is not polled again after a panic.
        let poll = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)));
        match poll {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(Failure::panic(&*panic))),
        }
    }
}
