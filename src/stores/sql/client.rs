//! [`Client`]: a client of a SQL server, and the seam to the rest.

use std::fmt;
use std::sync::Arc;

use super::config::Settings;
use super::dialect::Dialect;
use super::poll::{Look, Seen, after, poll};
use super::pool::{Answers, Pool, Question};
use super::question::{ClaimTick, Find, FindMany, FinishTick, Found, Free, Freed, ReadLedger};
use super::watch::Registry;
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::{Clock, Moment};
use crate::error::Result;
use crate::model::{FencingToken, MutexName, MutexOwner, StoreTime};
use crate::stores::kit::HeardClock;

/// A client of a SQL server; clones are the same client.
pub(in crate::stores) struct Client<D: Dialect>(Arc<ClientParts<D>>);

struct ClientParts<D: Dialect> {
    pool: Pool<D>,
    registry: Arc<Registry>,
    /// For answers that have no time: a page without a row, say.
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
        let client = Self(Arc::new(ClientParts {
            pool: Pool::new(dialect, settings.connections, settings.limits, clock),
            registry: Arc::default(),
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
        self.hear::<Q>(&reply, sent);
        Ok(reply)
    }

    /// The same for renewals, which cannot wait until other calls have ended.
    pub(in crate::stores) async fn ask_urgently<Q: Question>(&self, question: Q) -> Result<Q::Reply>
    where
        D: Answers<Q>,
    {
        let sent = self.0.pool.clock().now();
        let reply = self.0.pool.ask_urgently(question).await?;
        self.hear::<Q>(&reply, sent);
        Ok(reply)
    }

    fn hear<Q: Question>(&self, reply: &Q::Reply, sent: Moment) {
        if let Some(time) = Q::time(reply) {
            self.0.time.heard(time, sent, self.0.pool.clock().now());
        }
    }

    /// About the server's time.
    pub(in crate::stores) fn about_now(&self) -> StoreTime {
        self.0.time.at(self.0.pool.clock().now())
    }

    /// Frees a row; refused, with its owner, when it is another's.
    pub(super) async fn free(&self, free: Free) -> Result<Answer> {
        let name = free.name().clone();
        match self.ask(free).await? {
            Freed::At(now) => Ok(Answer::won(MutexOwner::NONE, now)),
            Freed::Not(Some(found)) => Self::refused(&name, found),
            // MySQL's UPDATE does not say why it reached no row.
            Freed::Not(None) => Self::refused(&name, self.ask(Find(name.clone())).await?),
        }
    }

    /// Who owns `name`, and no grant of the asker's.
    pub(in crate::stores) fn refused(name: &MutexName, found: Found) -> Result<Answer> {
        // A row that the collation holds equal is another mutex's.
        let row = found.row.filter(|row| row.mutex == name.as_str());
        let owner = row.map_or(Ok(MutexOwner::NONE), |row| D::owner_in(&row))?;
        Ok(Answer::refused(owner, found.now))
    }

    /// Who waits or observes in this process.
    pub(in crate::stores) fn registry(&self) -> &Arc<Registry> {
        &self.0.registry
    }

    /// Looks for all listeners of this process, until the last has gone.
    pub(in crate::stores) async fn poll(self) {
        let (registry, clock) = (Arc::clone(&self.0.registry), self.0.pool.clock().clone());
        poll(registry, self, clock).await;
    }
}

impl<D: Dialect> Look for Client<D> {
    async fn look(&self, names: Vec<MutexName>) -> Result<Vec<Seen>> {
        let mut seen = Vec::new();
        for names in names.chunks(D::TOGETHER) {
            let found = self.ask(FindMany(names.to_vec())).await?;
            seen.extend(found.rows.into_iter().map(|row| Seen {
                left: row.left(),
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

impl<D: Dialect> Backend for Client<D> {
    fn profile(&self) -> Profile {
        self.dialect().profile()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let answer = D::acquire(self, bid).await?;
        if !answer.is_won() {
            // Should the owner die, those who wait here are told by ourselves.
            let left = answer.owner().remaining(answer.now());
            let now = self.0.pool.clock().now();
            let ends_at = left.map(|left| after(now, left));
            self.registry().hear_of_end(&bid.name, ends_at);
        }
        Ok(answer)
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        self.renew_all(held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.free(Free::Held(held.clone())).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        if !D::HAS_NONCE && !bid.unique_id {
            // What it won cannot be told from the grant of a twin with the same
            // id: its lease ends it.
            return self.pool().check_open();
        }
        self.ask(Free::Left(bid.clone())).await.map(drop)
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        let found = self.ask(Find(name.clone())).await?;
        Self::refused(name, found)
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let (hints, must_begin) = self.registry().add(interest);
        if must_begin {
            // Not on the caller's: the streams of others outlive it.
            let runtime = self.pool().runtime();
            runtime.spawn(D::watch(self.clone()));
        }
        hints
    }

    async fn close(&self) -> Result<()> {
        // In this order: the watcher finds nothing to watch, and asks for no
        // connection of a closed pool.
        self.registry().close();
        self.pool().close().await;
        Ok(())
    }

    fn inventory(&self) -> Option<AnyInventory<'_>> {
        Some(AnyInventory::new(self))
    }

    fn administration(&self) -> Option<AnyAdministration<'_>> {
        Some(AnyAdministration::new(self))
    }

    fn ledger(&self) -> Option<AnyLedger<'_>> {
        Some(AnyLedger::new(self))
    }
}

impl<D: Dialect> Inventory for Client<D> {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.list_page(page).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.prune_step(prune).await
    }
}

impl<D: Dialect> Administration for Client<D> {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.free(Free::Revoked(name.clone(), token)).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.survey().await
    }
}

impl<D: Dialect> Ledger for Client<D> {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.ask(ReadLedger(name.clone())).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.ledgers(page).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let (held, claim) = (held.clone(), claim.clone());
        self.ask(ClaimTick { held, claim }).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let (held, end) = (held.clone(), *end);
        self.ask(FinishTick { held, end }).await
    }
}
