//! [`ThreadWork`]: a job that runs on a thread of its own and cannot be
//! dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use tokio::sync::oneshot;

use super::job::{Failure, JobResult, Work};
use super::tick::Tick;
use crate::error::{Error, ErrorKind, Outcome, Result};

type Answer = std::result::Result<(), Failure>;

/// The near side of a job's thread, which ends with it.
#[derive(Debug)]
pub(crate) struct ThreadWork {
    orders: mpsc::Sender<Order>,
    /// The run that was begun and has not answered.
    running: Option<oneshot::Receiver<Answer>>,
}

#[derive(Debug)]
struct Order {
    tick: Tick,
    span: tracing::Span,
    answer: oneshot::Sender<Answer>,
}

impl ThreadWork {
    /// A thread called `{worker}-0` that runs `job` when told.
    ///
    /// # Errors
    /// [`Store`](ErrorKind::Store) when the system gives no thread.
    pub(crate) fn spawn<F, R>(worker: &str, mut job: F) -> Result<Self>
    where
        F: FnMut(Tick) -> R + Send + 'static,
        R: JobResult,
    {
        let (orders, inbox) = mpsc::channel::<Order>();
        let work = move || {
            for order in inbox {
                let run = || order.span.in_scope(|| job(order.tick).into_result());
                let answer = match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(result) => result.map_err(Failure::Error),
                    Err(panic) => Err(Failure::panic(&*panic)),
                };
                let _ = order.answer.send(answer);
            }
        };
        let thread = std::thread::Builder::new().name(format!("{worker}-0"));
        thread.spawn(work).map_err(|error| {
            Error::new(ErrorKind::Store, Outcome::DidNot)
                .with_message("the system gave no thread for the job")
                .with_source(error)
        })?;
        let running = None;
        Ok(Self { orders, running })
    }
}

impl Work for ThreadWork {
    async fn run(&mut self, tick: Tick) -> Answer {
        let (answer, told) = oneshot::channel();
        let span = tracing::Span::current();
        let order = Order { tick, span, answer };
        let told = self.running.insert(told);
        let gone = || Err(Failure::Panic("its thread has gone".into()));
        if self.orders.send(order).is_err() {
            self.running = None;
            return gone();
        }
        let result = told.await;
        self.running = None;
        result.unwrap_or_else(|_| gone())
    }

    async fn ended(&mut self) {
        if let Some(told) = &mut self.running {
            let _ = told.await;
            self.running = None;
        }
    }
}
