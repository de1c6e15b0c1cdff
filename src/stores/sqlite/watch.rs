//! Who listens in this process, and what they are told.
//!
//! The wake file says only that something happened to some mutex of the file. One
//! look at the rows that have a listener here finds out what, so that a
//! release of another mutex wakes no waiter.

use super::database::Database;
use super::table::Sight;
use super::wake_file::Listening;
use crate::backend::{Hint, Interest};
use crate::error::Result;
use crate::model::{MutexName, StoreTime};
use crate::stores::kit::{HintSender, Listeners, News};

/// Who listens, and of each name what was last seen.
#[derive(Debug, Default)]
pub(super) struct Registry(Listeners<Option<Sight>>);

impl Registry {
    pub(super) fn add(&mut self, interest: &Interest, hints: HintSender, database: &mut Database) {
        self.0.sweep();
        // A change is one from here on.
        let see = || see(database, &interest.name).ok();
        self.0.add_with(interest, hints, see);
    }

    /// Whether `name` was owned, as far as is known, when it was last looked at for who listens.
    pub(super) fn saw_owned(&mut self, name: &MutexName) -> bool {
        let is_owned = |sight: &Sight| sight.owned_until.is_some();
        let seen = self.0.remembered(name);
        seen.is_some_and(|seen| seen.as_ref().is_none_or(is_owned))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the listeners want to hear of the wake file.
    pub(super) fn listening(&self) -> Listening {
        if self.0.is_empty() {
            Listening::Not
        } else if self.0.has_observers() {
            Listening::ToGrants
        } else {
            Listening::ToWrites
        }
    }

    /// When the first of the leases that a waiter waits for runs out.
    pub(super) fn first_end(&self) -> Option<StoreTime> {
        let seen = self.0.names().filter_map(|(_, seen)| *seen);
        seen.filter_map(|sight| sight.owned_until).min()
    }

    /// Looks at every row that has a listener: what they are to hear of what changed.
    pub(super) fn look(&mut self, database: &mut Database) -> Vec<News> {
        let mut news = Vec::new();
        self.0.sweep();
        let names: Vec<MutexName> = self.0.names().map(|(name, _)| name.clone()).collect();
        for name in names {
            let now = see(database, &name)
                // Asked again at the next write; the waiters' own looks tell
                // them of the trouble.
                .inspect_err(|error| {
                    tracing::debug!(target: "tenure::store", %error, "cannot look who owns");
                })
                .ok();
            let Some(seen) = self.0.remembered(&name) else {
                continue;
            };
            let before = std::mem::replace(seen, now);
            if let Some(now) = now
                && before.is_none_or(|before| is_change(before, now))
            {
                news.extend(self.0.of_change(&name, now.owned_until.is_none()));
            }
        }
        news
    }

    /// Something may have been missed.
    pub(super) fn tell_all(&self, hint: Hint) {
        self.0.tell_all(hint);
    }
}

/// Whether another owns it, or it has become free, or owned.
fn is_change(before: Sight, now: Sight) -> bool {
    before.version != now.version || before.owned_until.is_some() != now.owned_until.is_some()
}

fn see(database: &mut Database, name: &MutexName) -> Result<Sight> {
    database.read(|table| table.sight(name))
}
