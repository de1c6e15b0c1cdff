//! Who listens in this process, and what they are told.
//!
//! The bell says only that something happened to some mutex of the file. One
//! look at the rows that somebody here listens to finds out what, so that a
//! release of another mutex wakes nobody.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use super::database::Database;
use super::table::Sight;
use crate::backend::{Hint, Interest};
use crate::error::Result;
use crate::model::{MutexName, StoreTime};

/// A listener's hints beyond these are dropped: it has enough reason to look.
const WAITING_HINTS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Ears {
    names: BTreeMap<MutexName, Watched>,
}

#[derive(Debug)]
struct Watched {
    listeners: Vec<Listener>,
    seen: Option<Sight>,
}

#[derive(Debug)]
struct Listener {
    /// Waits for its turn.
    waits: bool,
    /// Follows every change of owner.
    follows: bool,
    ear: mpsc::Sender<Hint>,
}

impl Listener {
    fn tell(&self, hint: Hint) {
        let _full_or_gone = self.ear.try_send(hint);
    }
}

/// An ear and the stream of what it hears.
pub(super) fn ear() -> (mpsc::Sender<Hint>, HintStream) {
    let (ear, hints) = mpsc::channel(WAITING_HINTS);
    (ear, HintStream(hints))
}

impl Ears {
    pub(super) fn add(
        &mut self,
        interest: &Interest,
        ear: mpsc::Sender<Hint>,
        database: &mut Database,
    ) {
        self.tidy();
        let watched = self
            .names
            .entry(interest.name.clone())
            .or_insert_with(|| Watched {
                listeners: Vec::new(),
                // A change is one from here on.
                seen: see(database, &interest.name).ok(),
            });
        watched.listeners.push(Listener {
            waits: interest.waiter.is_some(),
            follows: interest.owner,
            ear,
        });
    }

    /// Forgets who has gone.
    pub(super) fn tidy(&mut self) {
        self.names.retain(|_, watched| {
            watched
                .listeners
                .retain(|listener| !listener.ear.is_closed());
            !watched.listeners.is_empty()
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether somebody follows every change of owner.
    pub(super) fn follow_owners(&self) -> bool {
        let mut listeners = self.names.values().flat_map(|watched| &watched.listeners);
        listeners.any(|listener| listener.follows)
    }

    /// When the first of the leases that somebody waits for runs out.
    pub(super) fn first_end(&self) -> Option<StoreTime> {
        let seen = self.names.values().filter_map(|watched| watched.seen);
        seen.filter_map(|sight| sight.owned_until).min()
    }

    /// Looks at every row that somebody listens to, and tells what changed.
    pub(super) fn look(&mut self, database: &mut Database) {
        self.tidy();
        for (name, watched) in &mut self.names {
            let now = match see(database, name) {
                Ok(sight) => sight,
                Err(error) => {
                    tracing::debug!(target: "tenure::store", %error, "cannot look who owns");
                    // Asked again at the next ring; the waiters' own looks tell
                    // them of the trouble.
                    watched.seen = None;
                    continue;
                }
            };
            watched.tell(now);
        }
    }

    /// Something may have been missed.
    pub(super) fn tell_all(&self, hint: Hint) {
        for listener in self.names.values().flat_map(|watched| &watched.listeners) {
            listener.tell(hint);
        }
    }
}

impl Watched {
    fn tell(&mut self, now: Sight) {
        let before = self.seen.replace(now);
        let owned = |sight: Sight| sight.owned_until.is_some();
        if before.is_some_and(|was| was.version == now.version && owned(was) == owned(now)) {
            return;
        }
        for listener in &self.listeners {
            if listener.waits && !owned(now) {
                listener.tell(Hint::Turn);
            } else if listener.follows {
                listener.tell(Hint::Changed);
            }
        }
    }
}

fn see(database: &mut Database, name: &MutexName) -> Result<Sight> {
    database.read(|table| table.sight(name))
}

#[derive(Debug)]
pub(super) struct HintStream(mpsc::Receiver<Hint>);

impl Stream for HintStream {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.0.poll_recv(cx)
    }
}
