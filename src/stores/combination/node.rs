//! [`Node`]: one server of a combination, and whether it answers.

use std::fmt;
use std::sync::{MutexGuard, OnceLock};
use std::time::Duration;

use super::connection::ConnectionUse;
use super::pulse::Health;
use crate::backend::AnyHoldStore;
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::sync::Mutex;

/// One server. Whether it answers is known to the whole process; whether it
/// lets this lock be taken is a matter between the two.
pub(crate) struct Node {
    /// Its place and its URL without secrets, for people.
    label: String,
    connection: ConnectionUse,
    command_timeout: Duration,
    /// Whether it keeps its locks when it restarts.
    pub(super) durable: bool,
    probe_max: Duration,
    clock: Clock,
    sick: Mutex<Option<Sickness>>,
    /// The server's own id, once it has said it and is no other node's.
    id: OnceLock<String>,
}

/// The server answers, and says that this lock cannot be taken: a permission
/// is missing, the key is something else.
struct Sickness {
    health: Health,
    error: Error,
}

impl Node {
    pub(crate) fn new(
        label: String,
        connection: ConnectionUse,
        command_timeout: Duration,
        durable: bool,
        probe_max: Duration,
        clock: Clock,
    ) -> Self {
        Self {
            label,
            connection,
            command_timeout,
            durable,
            probe_max,
            clock,
            sick: Mutex::new(None),
            id: OnceLock::new(),
        }
    }

    /// Notes who it is: it has a vote from now on.
    pub(crate) fn admit(&self, id: String) {
        let _ = self.id.set(id);
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.id.get().is_some()
    }

    pub(super) fn id(&self) -> Option<String> {
        self.id.get().cloned()
    }

    /// Why it could not be used when the lock was made.
    pub(crate) fn could_not(&self, error: &Error) {
        if is_silence(error) {
            self.fell_silent(error);
        } else {
            self.fell_sick(error);
        }
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn store(&self) -> &AnyHoldStore {
        self.connection.store()
    }

    /// Gives up the connection; true for its last user, who closes it.
    pub(super) fn leave(&self) -> bool {
        self.connection.leave()
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
        if self.answers() {
            return true;
        }
        let now = self.clock.now();
        let probes = self.health().shall_probe(now, in_need, self.probe_max);
        if !probes {
            return false;
        }
        if self.ask(None, self.store().ping()).await.is_err() {
            return false;
        }
        tracing::info!(target: "tenure::lock", node = %self.label, "answers again");
        *self.health() = Health::Available;
        true
    }

    /// Whether it can be asked to be locked: as [`is_usable`](Self::is_usable),
    /// and one that is sick is tried again as rarely as a silent one is probed.
    pub(super) async fn is_takeable(&self, in_need: bool) -> bool {
        let now = self.clock.now();
        let skipped = match &mut *self.sick.lock() {
            Some(sick) => !sick.health.shall_probe(now, in_need, self.probe_max),
            None => false,
        };
        !skipped && self.is_usable(in_need).await
    }

    /// Whether it answers and is not sick, as far as is known.
    pub(super) fn is_available(&self) -> bool {
        self.answers() && self.sick.lock().is_none()
    }

    pub(super) fn answers(&self) -> bool {
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

    /// What it said to a take: only takes suffer from a node that is sick.
    pub(super) fn said<T>(&self, answer: &Result<T>) {
        match answer {
            Ok(_) if self.sick.lock().take().is_some() => {
                tracing::info!(target: "tenure::lock", node = %self.label, "is well again");
            }
            Err(error) if is_sickness(error) => self.fell_sick(error),
            _ => {}
        }
    }

    /// What it said when it was asked who it is; it is well once it can be
    /// locked.
    pub(super) fn said_of_itself(&self, answer: &Result<String>) {
        if let Err(error) = answer
            && is_sickness(error)
        {
            self.fell_sick(error);
        }
    }

    fn fell_sick(&self, error: &Error) {
        let mut sick = self.sick.lock();
        let new = sick.is_none();
        let now = self.clock.now();
        let sickness = sick.get_or_insert_with(|| Sickness {
            health: Health::default(),
            error: error.clone(),
        });
        let why = error.to_string();
        sickness.health.fell_silent(now, why, self.probe_max);
        sickness.error = error.clone();
        drop(sick);
        if new {
            tracing::warn!(
                target: "tenure::lock",
                node = %self.label,
                "cannot be locked, and is passed over while enough others can: {error}"
            );
        }
    }

    /// What it says to be locked, if that is an error.
    pub(super) fn sickness(&self) -> Option<Error> {
        self.sick.lock().as_ref().map(|sick| sick.error.clone())
    }

    /// Since when it has been of no use and why, if it is.
    pub(super) fn trouble(&self) -> Option<String> {
        let now = self.clock.now();
        let text = |what: &str, health: &Health| match health {
            Health::Available => None,
            Health::Down(down) => Some(format!(
                "{what} for {:.1?} ({}), next probe in {:.1?}",
                now.since(down.since),
                down.why,
                down.next_probe.since(now)
            )),
        };
        let silent = text("unavailable", &self.health());
        silent.or_else(|| {
            let sick = self.sick.lock();
            let health = &sick.as_ref()?.health;
            text("sick", health)
        })
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.connection.pulse().health()
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

/// Whether it answers, and something is wrong there.
fn is_sickness(error: &Error) -> bool {
    !is_silence(error) && error.kind() != ErrorKind::Closed
}

/// Two nodes that are one server, which would have two votes.
pub(crate) fn is_twin(place: &str, twin: &str) -> Error {
    Error::invalid(format!(
        "{place} is the server of {twin}: the nodes of a combination lock are independent servers"
    ))
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("label", &self.label)
            .field("trouble", &self.trouble())
            .finish_non_exhaustive()
    }
}
