//! Looking without contending: the loop of every observer.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::event::{Notice, Tell};
use super::trouble::Doing;
use super::{Engine, wake};
use crate::backend::{Answer, Backend, Hints, Interest};
use crate::error::Result;
use crate::model::MutexName;

/// A running observation; dropped, it ends.
#[derive(Debug)]
pub(crate) struct Observation {
    stop: CancellationToken,
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Engine {
    /// Tells `sink` who owns `name`, at first and whenever it may have
    /// changed. Looks at a hint (at most once per [`wake::BROADCAST_LOOK`]),
    /// when the owner's lease should end, and now and then in any case.
    pub(crate) fn observe(&self, name: MutexName, sink: Tell) -> Observation {
        let stop = self.closing_token().child_token();
        let observation = Observation { stop: stop.clone() };
        let engine = self.clone();
        self.spawn(async move {
            stop.run_until_cancelled(engine.keep_looking(name, sink))
                .await;
        });
        observation
    }

    async fn keep_looking(&self, name: MutexName, mut sink: Tell) {
        let mut hints = self.backend().changes(&Interest::in_owner(&name));
        let mut random = self.random();
        let mut reporter = self.reporter(&name, Doing::Observing);
        let mut failures = 0;
        loop {
            let pause = match self.look(&name).await {
                Ok(answer) => {
                    failures = 0;
                    reporter.well();
                    sink(Notice::Observed(answer.owner().clone()));
                    self.next_look(&answer, random.fraction())
                }
                Err(error) => {
                    failures += 1;
                    let error = error.with_mutex(&name);
                    reporter.failed(&error);
                    sink(Notice::Trouble(error));
                    wake::backoff(failures, random.fraction())
                }
            };
            let clock = self.clock();
            let looked_at = clock.now();
            clock.limit(looked_at + pause, heard(&mut hints)).await;
            clock
                .sleep_until((looked_at + wake::BROADCAST_LOOK).min(looked_at + pause))
                .await;
        }
    }

    /// Who owns `name`, within the usual time of a call.
    pub(crate) async fn look(&self, name: &MutexName) -> Result<Answer> {
        self.call("owner", self.backend().owner(name)).await
    }

    fn next_look(&self, answer: &Answer, fraction: f64) -> Duration {
        let safety = self.backend().profile().safety_look;
        let left = answer.owner().remaining(answer.now());
        let after_end = Duration::from_millis(1) + wake::RESUME_SPREAD.mul_f64(fraction);
        match left {
            Some(left) if !left.is_zero() => (left + after_end).min(safety),
            _ => safety,
        }
    }
}

/// Returns at the next hint; never when there will be none.
async fn heard(hints: &mut Hints) {
    if hints.next().await.is_none() {
        std::future::pending::<()>().await;
    }
}
