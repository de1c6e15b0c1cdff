//! What is given to the thread.

use tokio::sync::oneshot;

use super::worker::Worker;
use crate::error::Result;

/// Something to do on the thread.
pub(super) trait Job: Send {
    fn run(&mut self, worker: &mut Worker);

    /// Tells who asked. The connection is free again by then: who hears of it
    /// comes back at once, and need not give the next thing to the thread too.
    fn tell(self: Box<Self>);
}

/// A job whose asker waits for the answer. It is told whether that is still so.
pub(super) struct Question<W, T> {
    work: Option<W>,
    answer: Option<Result<T>>,
    tell: oneshot::Sender<Result<T>>,
}

impl<W, T> Question<W, T>
where
    W: FnOnce(&mut Worker, bool) -> Option<Result<T>>,
{
    pub(super) fn new(work: W, tell: oneshot::Sender<Result<T>>) -> Self {
        Self {
            work: Some(work),
            answer: None,
            tell,
        }
    }
}

impl<W, T> Job for Question<W, T>
where
    W: FnOnce(&mut Worker, bool) -> Option<Result<T>> + Send,
    T: Send,
{
    fn run(&mut self, worker: &mut Worker) {
        let wanted = !self.tell.is_closed();
        self.answer = self.work.take().and_then(|work| work(worker, wanted));
    }

    fn tell(self: Box<Self>) {
        if let Some(answer) = self.answer {
            let _ = self.tell.send(answer);
        }
    }
}

/// A job without an answer.
pub(super) struct Order<W>(Option<W>);

impl<W: FnOnce(&mut Worker)> Order<W> {
    pub(super) fn new(work: W) -> Self {
        Self(Some(work))
    }
}

impl<W: FnOnce(&mut Worker) + Send> Job for Order<W> {
    fn run(&mut self, worker: &mut Worker) {
        if let Some(work) = self.0.take() {
            work(worker);
        }
    }

    fn tell(self: Box<Self>) {}
}
