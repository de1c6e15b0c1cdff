//! [`LedgerClient`]: reads and writes the ledger, for as long as it takes.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::backend::{AnyLedger, Backend, Claim, ClaimAnswer, Held, Ledger, LedgerEntry, TickEnd};
use crate::engine::{Doing, Engine, Tenure, TroubleReporter};
use crate::error::{Error, Result};
use crate::model::{MutexName, StoreTime};
use crate::sync::Mutex;

/// The calls of the ledger, each with a limit. Over a store that keeps none,
/// this process remembers what it did itself.
#[derive(Debug)]
pub(super) struct LedgerClient {
    engine: Engine,
    name: MutexName,
    own: Mutex<Option<LedgerEntry>>,
    reporter: Arc<Mutex<TroubleReporter>>,
}

impl LedgerClient {
    pub(super) fn new(engine: Engine, name: MutexName) -> Self {
        let reporter = engine.reporter(&name, Doing::Recording);
        Self {
            engine,
            name,
            own: Mutex::default(),
            reporter: Arc::new(Mutex::new(reporter)),
        }
    }

    fn ledger(&self) -> Option<AnyLedger<'_>> {
        self.engine.backend().ledger()
    }

    /// Nothing is asked of the ledger for now: a standby that could not read it
    /// does not fail any more.
    pub(super) fn rests(&self) {
        rests(&self.reporter);
    }

    pub(super) async fn read_once(&self) -> Result<Option<LedgerEntry>> {
        let Some(ledger) = self.ledger() else {
            return Ok(self.own.lock().clone());
        };
        let read = self
            .engine
            .call("ledger", ledger.read_ledger(&self.name))
            .await;
        told(&self.reporter, &self.name, read)
    }

    /// The ledger, as soon as the store answers.
    pub(super) async fn read(&self) -> Option<LedgerEntry> {
        let mut failures = 0;
        loop {
            match self.read_once().await {
                Ok(entry) => return entry,
                Err(error) => self.again(&mut failures, "read the ledger", &error).await,
            }
        }
    }

    /// The store's word on a claim, as soon as it answers.
    pub(super) async fn claim(&self, tenure: &Tenure, claim: &Claim) -> ClaimAnswer {
        let held = tenure.grant();
        let Some(ledger) = self.ledger() else {
            let claim = begun(tenure, claim);
            *self.own.lock() = Some(LedgerEntry::claimed(&claim, held.token));
            return ClaimAnswer::Claimed;
        };
        let what = if claim.only_plan {
            "write the plan"
        } else {
            "claim a tick"
        };
        let mut failures = 0;
        loop {
            let claim = begun(tenure, claim);
            let answer = self
                .engine
                .call("ledger", ledger.claim_tick(&held, &claim))
                .await;
            match told(&self.reporter, &self.name, answer) {
                Ok(answer) => return answer,
                Err(error) => self.again(&mut failures, what, &error).await,
            }
        }
    }

    /// Records the end of a tick, and returns when the store has answered.
    ///
    /// Once begun it goes on, dropped or not, until the store has answered or
    /// a lease has passed: a run that came to its end should not be taken for
    /// one that did not.
    pub(super) async fn finish(&self, held: &Held, end: TickEnd, at: StoreTime) {
        if self.ledger().is_none() {
            if let Some(entry) = &mut *self.own.lock() {
                entry.end(&end, at);
            }
            return;
        }
        let (tell, told) = oneshot::channel::<()>();
        let (engine, held) = (self.engine.clone(), held.clone());
        let reporter = Arc::clone(&self.reporter);
        self.engine.spawn(async move {
            let _tell = tell;
            record(&engine, &held, end, &reporter).await;
        });
        let _ = told.await;
    }

    async fn again(&self, failures: &mut u32, what: &str, error: &Error) {
        *failures = failures.saturating_add(1);
        self.tell_trouble(what, error);
        let pause = self.engine.pause(*failures);
        self.engine.clock().sleep(pause).await;
    }

    /// Quietly: that the store is in trouble is told once, for all.
    fn tell_trouble(&self, what: &str, error: &Error) {
        let source = std::error::Error::source(error).map(tracing::field::display);
        tracing::debug!(
            target: "tenure::schedule", schedule = %self.name, source,
            "will {what} again: {error}"
        );
    }
}

/// The claim as it stands now: what is claimed is begun at once.
fn begun(tenure: &Tenure, claim: &Claim) -> Claim {
    match claim.only_plan {
        true => claim.clone(),
        false => claim.clone().begun_at(tenure.store_now()),
    }
}

async fn record(engine: &Engine, held: &Held, end: TickEnd, reporter: &Mutex<TroubleReporter>) {
    let Some(ledger) = engine.backend().ledger() else {
        return;
    };
    let clock = engine.clock();
    let until = clock.now() + engine.terms().lease();
    for failures in 1.. {
        let recorded = engine.call("ledger", ledger.finish_tick(held, &end)).await;
        let error = match told(reporter, &held.name, recorded) {
            Ok(true) => return,
            Ok(false) => {
                tracing::warn!(
                    target: "tenure::schedule", schedule = %held.name, tick = end.tick,
                    "the end of this tick came after the claim of another"
                );
                return;
            }
            Err(error) => error,
        };
        if clock.now() >= until {
            tracing::warn!(
                target: "tenure::schedule", schedule = %held.name, tick = end.tick,
                "the end of this tick could not be recorded: {error}"
            );
            rests(reporter);
            return;
        }
        clock.sleep(engine.pause(failures)).await;
    }
}

fn rests(reporter: &Mutex<TroubleReporter>) {
    let mut reporter = reporter.lock();
    reporter.rests();
}

/// The answer, which is also told to the readers of troubles.
fn told<T>(reporter: &Mutex<TroubleReporter>, name: &MutexName, answer: Result<T>) -> Result<T> {
    let answer = answer.map_err(|error| error.with_mutex(name));
    let mut reporter = reporter.lock();
    match &answer {
        Ok(_) => reporter.well(),
        Err(error) => reporter.failed(error),
    }
    answer
}
