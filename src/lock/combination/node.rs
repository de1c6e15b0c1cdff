//! [`Node`]: one server of a combination, and whether it answers.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::health::Health;
use crate::backend::AnyHoldStore;
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};

/// One server. Its health is shared by all contenders of the process.
pub(crate) struct Node {
    /// Its place and its URL without secrets, for people.
    label: String,
    pub(super) store: AnyHoldStore,
    command_timeout: Duration,
    /// Whether it keeps its locks when it restarts.
    pub(super) durable: bool,
    probe_max: Duration,
    clock: Clock,
    health: Mutex<Health>,
}

impl Node {
    pub(crate) fn new(
        label: String,
        store: AnyHoldStore,
        command_timeout: Duration,
        durable: bool,
        probe_max: Duration,
        clock: Clock,
    ) -> Self {
        Self {
            label,
            store,
            command_timeout,
            durable,
            probe_max,
            clock,
            health: Mutex::new(Health::Available),
        }
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// Asks it something, until its command timeout or `by`. A node that is
    /// silent or out of order is skipped from then on.
    pub(super) async fn ask<T>(
        &self,
        by: Option<Moment>,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let whole = self.clock.now() + self.command_timeout;
        let limit = by.map_or(whole, |by| by.min(whole));
        let answer = self.clock.limit(limit, call).await;
        let error = match answer {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => error,
            None => Error::new(ErrorKind::Timeout, Outcome::MayHave)
                .with_message(format!("no answer within {:?}", self.command_timeout)),
        };
        // Who was given less than its time has not shown to be silent.
        let cut_short = error.kind() == ErrorKind::Timeout && limit < whole;
        if is_silence(&error) && !cut_short {
            self.fell_silent(&error);
        }
        Err(error)
    }

    /// Whether it can be asked. One that fell silent is probed when that is
    /// due; in need, when nothing works without it, once a second.
    pub(super) async fn is_usable(&self, in_need: bool) -> bool {
        if self.is_available() {
            return true;
        }
        let now = self.clock.now();
        let probes = self.health().shall_probe(now, in_need, self.probe_max);
        if !probes {
            return false;
        }
        if self.ask(None, self.store.ping()).await.is_err() {
            return false;
        }
        tracing::info!(target: "tenure::lock", node = %self.label, "answers again");
        *self.health() = Health::Available;
        true
    }

    pub(super) fn is_available(&self) -> bool {
        matches!(&*self.health(), Health::Available)
    }

    fn fell_silent(&self, error: &Error) {
        let (now, why) = (self.clock.now(), error.to_string());
        if self.health().fell_silent(now, why, self.probe_max) {
            tracing::warn!(
                target: "tenure::lock",
                node = %self.label,
                "is skipped until a probe is answered: {error}"
            );
        }
    }

    /// Since when it has been silent and why, if it is.
    pub(super) fn trouble(&self) -> Option<String> {
        let now = self.clock.now();
        match &*self.health() {
            Health::Available => None,
            Health::Down(down) => Some(format!(
                "unavailable for {:.1?} ({}), next probe in {:.1?}",
                now.since(down.since),
                down.why,
                down.next_probe.since(now)
            )),
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error means that the server is of no use now, and not that the
/// question was wrong.
pub(super) fn is_silence(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Timeout | ErrorKind::Unreachable | ErrorKind::Store
    )
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("label", &self.label)
            .field("trouble", &self.trouble())
            .finish_non_exhaustive()
    }
}
