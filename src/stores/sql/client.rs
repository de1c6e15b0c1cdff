//! [`Client`]: a client of a SQL server.

use std::fmt;
use std::sync::Arc;

use super::config::Settings;
use super::dialect::Dialect;
use super::poll::{Look, Seen, poll};
use super::pool::{Answers, Pool, Question};
use super::question::{Find, FindMany, Found, Free, Freed};
use super::watch::Watch;
use crate::backend::{Answer, Bid, Hints, Interest};
use crate::clock::Clock;
use crate::error::Result;
use crate::model::{MutexName, MutexOwner, StoreTime};
use crate::stores::kit::HeardClock;

/// A client of a SQL server; clones are the same client.
pub(in crate::stores) struct Client<D: Dialect>(Arc<Inner<D>>);

struct Inner<D: Dialect> {
    pool: Pool<D>,
    watch: Arc<Watch>,
    time: HeardClock,
}

impl<D: Dialect> Clone for Client<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: Dialect> Client<D> {
    /// Connects, and makes the tables if they are missing and `settings` do not
    /// forbid it.
    pub(in crate::stores) async fn open(
        dialect: D,
        settings: &Settings,
        clock: Clock,
    ) -> Result<Self> {
        let time = HeardClock::guessed(clock.now());
        let client = Self(Arc::new(Inner {
            pool: Pool::new(dialect, settings.connections, settings.limits, clock),
            watch: Arc::default(),
            time,
        }));
        client.set_up(settings.create).await?;
        D::greet(&client).await?;
        Ok(client)
    }

    pub(in crate::stores) fn dialect(&self) -> &D {
        self.0.pool.driver()
    }

    pub(in crate::stores) fn pool(&self) -> &Pool<D> {
        &self.0.pool
    }

    /// Asks the server, and hears what time it has.
    pub(in crate::stores) async fn ask<Q: Question>(&self, question: Q) -> Result<Q::Reply>
    where
        D: Answers<Q>,
    {
        let sent = self.0.pool.clock().now();
        let reply = self.0.pool.ask(question).await?;
        if let Some(time) = Q::time(&reply) {
            self.0.time.heard(time, sent, self.0.pool.clock().now());
        }
        Ok(reply)
    }

    /// The same for renewals, which cannot wait until other calls have ended.
    pub(in crate::stores) async fn ask_urgently<Q: Question>(&self, question: Q) -> Result<Q::Reply>
    where
        D: Answers<Q>,
    {
        let sent = self.0.pool.clock().now();
        let reply = self.0.pool.ask_urgently(question).await?;
        if let Some(time) = Q::time(&reply) {
            self.0.time.heard(time, sent, self.0.pool.clock().now());
        }
        Ok(reply)
    }

    /// About the server's time.
    pub(in crate::stores) fn about_now(&self) -> StoreTime {
        self.0.time.at(self.0.pool.clock().now())
    }

    /// Undoes whatever `bid` may have won.
    pub(super) async fn undo(&self, bid: &Bid) -> Result<()> {
        if !D::HAS_NONCE && !bid.unique_id {
            // What it won cannot be told from the grant of a twin with the same
            // id: its lease ends it.
            return self.0.pool.check_open();
        }
        self.ask(Free::Left(bid.clone())).await.map(drop)
    }

    pub(super) async fn look_at(&self, name: &MutexName) -> Result<Answer> {
        let found = self.ask(Find(name.clone())).await?;
        Self::refused(name, found)
    }

    /// Frees a row; refused, with whoever owns it, when it is another's.
    pub(super) async fn free(&self, free: Free) -> Result<Answer> {
        let name = free.name().clone();
        match self.ask(free).await? {
            Freed::At(now) => Ok(Answer::won(MutexOwner::NONE, now)),
            Freed::Not(Some(found)) => Self::refused(&name, found),
            Freed::Not(None) => self.look_at(&name).await,
        }
    }

    /// Who owns `name`, and no grant of the asker's.
    pub(in crate::stores) fn refused(name: &MutexName, found: Found) -> Result<Answer> {
        // A row that the collation holds equal is another mutex's.
        let row = found.row.filter(|row| row.mutex == name.as_str());
        let owner = row.map_or(Ok(MutexOwner::NONE), |row| D::owner_in(&row))?;
        Ok(Answer::refused(owner, found.now))
    }

    pub(super) fn listen(&self, interest: &Interest) -> Hints {
        let (hints, must_begin) = self.0.watch.add(interest);
        if must_begin {
            let watch = D::watch(self.clone());
            self.0.pool.runtime().spawn(watch);
        }
        hints
    }

    /// Who waits or observes in this process.
    pub(in crate::stores) fn listeners(&self) -> &Arc<Watch> {
        &self.0.watch
    }

    /// Looks for all who listen in this process, until nobody does.
    pub(in crate::stores) async fn poll(self) {
        let (watch, clock) = (Arc::clone(&self.0.watch), self.0.pool.clock().clone());
        poll(watch, self, clock).await;
    }

    pub(super) async fn end(&self) -> Result<()> {
        self.0.watch.close();
        self.0.pool.close().await;
        Ok(())
    }
}

impl<D: Dialect> Look for Client<D> {
    async fn look(&self, names: Vec<MutexName>) -> Result<Vec<Seen>> {
        let mut seen = Vec::new();
        for names in names.chunks(D::TOGETHER) {
            let found = self.ask(FindMany(names.to_vec())).await?;
            seen.extend(found.rows.into_iter().map(|row| Seen {
                owner: (!row.is_free()).then_some(row.owner_id),
                name: row.mutex,
            }));
        }
        Ok(seen)
    }
}

impl<D: Dialect> fmt::Debug for Client<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(D::NAME)
            .field("pool", &self.0.pool)
            .field("table", &self.dialect().tables()[0])
            .finish_non_exhaustive()
    }
}
