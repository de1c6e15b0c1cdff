//! [`MySql`]: a client of a MySQL or MariaDB server.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::calls::{CanSkip, Find, FindMany, Free, Insert, Now, Renew, Take, millis};
use super::clock::{Dial, Stamp};
use super::connect::Connector;
use super::ledger;
use super::schema::{self, Create, INT_WARNING, Inspect, Layout, Schedules};
use super::statements::Statements;
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::Clock;
use crate::error::Result;
use crate::model::{FencingToken, LeaseTerms, MutexName, MutexOwner, StoreTime};
use crate::stores::sql::{
    Ask, Effect, Look, POLL, Passed, Pool, Renewing, Row, Seen, Settings, Watch, locked, poll,
    renew,
};

/// The pauses before a take is tried again that failed though the row is free:
/// another takes it just now, or holds it for longer.
const PAUSES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
];

/// A client of a MySQL or MariaDB server; clones are the same client.
#[derive(Clone)]
pub struct MySql(Arc<Inner>);

struct Inner {
    pool: Pool<Connector>,
    statements: Arc<Statements>,
    /// As last inspected: somebody may widen the table.
    layout: Mutex<Layout>,
    dial: Dial,
    /// Whether the server can go around rows that others hold.
    skips: bool,
    watch: Arc<Watch>,
    warned: AtomicBool,
}

impl MySql {
    pub(super) async fn open(
        connector: Connector,
        settings: &Settings,
        clock: Clock,
    ) -> Result<Self> {
        let statements = Arc::clone(&connector.statements);
        let pool = Pool::new(
            connector,
            settings.connections,
            settings.limits,
            clock.clone(),
        );
        let dial = Dial::new(clock);
        dial.set(pool.ask(Now, Effect::Reads).await?);
        let inspect = || pool.ask(Inspect(Arc::clone(&statements)), Effect::Reads);
        let mut found = inspect().await?;
        if settings.create && (found.columns.is_empty() || found.schedule.lacks_something()) {
            let create = Create(Arc::clone(&statements));
            match pool.ask(create, Effect::Writes).await {
                Ok(()) => found = inspect().await?,
                // Without schedules it serves as well.
                Err(error) if !found.columns.is_empty() => {
                    tracing::debug!(%error, "the table of schedules cannot be made");
                }
                Err(error) => return Err(schema::not_made(&statements, error)),
            }
        }
        if found.columns.is_empty() {
            return Err(schema::missing(&statements));
        }
        let layout = schema::layout(&statements, &found.columns)?;
        statements.keeps_notes(found.schedule == Schedules::WithNotes);
        let skips = pool.ask(CanSkip(Arc::clone(&statements)), Effect::Reads);
        let skips = skips.await?;
        Ok(Self(Arc::new(Inner {
            pool,
            statements,
            layout: Mutex::new(layout),
            dial,
            skips,
            watch: Arc::default(),
            warned: AtomicBool::new(false),
        })))
    }

    pub(super) fn pool(&self) -> &Pool<Connector> {
        &self.0.pool
    }

    pub(super) fn statements(&self) -> &Arc<Statements> {
        &self.0.statements
    }

    /// Whether the server can go around rows that others hold.
    pub(super) fn skips(&self) -> bool {
        self.0.skips
    }

    pub(super) fn layout(&self) -> Layout {
        *self.0.layout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The layout, after a look at what the table is like now.
    async fn layout_again(&self) -> Result<Layout> {
        let found = self.read(Inspect(self.to())).await?;
        let layout = schema::layout(&self.0.statements, &found.columns)?;
        *self.0.layout.lock().unwrap_or_else(PoisonError::into_inner) = layout;
        Ok(layout)
    }

    pub(super) fn to(&self) -> Arc<Statements> {
        Arc::clone(&self.0.statements)
    }

    pub(super) async fn read<A: Ask<sqlx::MySqlConnection>>(&self, ask: A) -> Result<A::Reply> {
        self.0.pool.ask(ask, Effect::Reads).await
    }

    pub(super) async fn write<A: Ask<sqlx::MySqlConnection>>(&self, ask: A) -> Result<A::Reply> {
        self.0.pool.ask(ask, Effect::Writes).await
    }

    /// The row that the collation finds for `name`, perhaps of another name,
    /// and the time.
    async fn find(&self, name: &MutexName) -> Result<(Option<Row>, StoreTime)> {
        let name = name.clone();
        let (row, now) = self
            .read(Find {
                to: self.to(),
                name,
            })
            .await?;
        self.0.dial.set(now);
        Ok((row, StoreTime::from_millis(now)))
    }

    /// Who owns `name`, and no grant of the asker's.
    async fn refusal(&self, name: &MutexName) -> Result<Answer> {
        let (row, now) = self.find(name).await?;
        let row = row.filter(|row| row.mutex == name.as_str());
        let owner = row.map_or(Ok(MutexOwner::NONE), |row| row.owner())?;
        Ok(Answer::refused(owner, now))
    }

    pub(super) fn about_now(&self) -> StoreTime {
        StoreTime::from_millis(self.0.dial.about())
    }

    fn granted(&self, bid: &Bid, id: u64) -> Result<Answer> {
        let stamp = Stamp::new(id)?;
        let now = StoreTime::from_millis(stamp.near(self.0.dial.about()));
        let near_the_end = self.layout().has_int_version() && stamp.version >= INT_WARNING;
        if near_the_end && !self.0.warned.swap(true, Ordering::Relaxed) {
            let remedy = schema::version_ended(&self.0.statements);
            tracing::warn!(mutex = %bid.name, version = stamp.version, "soon {remedy}");
        }
        let (ttl_at, end) = (now + bid.terms.ttl(), now + bid.terms.lease());
        let owner = MutexOwner::new(bid.contender.clone(), now, ttl_at, end)
            .with_token(FencingToken::from_store(stamp.version)?);
        Ok(Answer::won(owner, now))
    }

    async fn free(&self, name: &MutexName, free: Free) -> Result<Answer> {
        match self.write(free).await? {
            Some(now) => {
                self.0.dial.set(now);
                Ok(Answer::won(MutexOwner::NONE, StoreTime::from_millis(now)))
            }
            None => self.refusal(name).await,
        }
    }

    /// Which of `some` were renewed at `now`, which are lost, and which were
    /// there but could not be had.
    async fn which(&self, some: &[Held], now: u64) -> Result<Vec<Passed>> {
        let names = some.iter().map(|held| held.name.clone()).collect();
        let find = FindMany {
            to: self.to(),
            names,
        };
        let rows = self.0.pool.ask_urgently(find, Effect::Reads).await?;
        let about_now = self.about_now();
        let passed = some.iter().map(|held| {
            let row = rows.iter().find(|row| row.mutex == held.name.as_str());
            let Some(row) = row else {
                return Passed::Answered(Ok(Answer::refused(MutexOwner::NONE, about_now)));
            };
            let same = row.owner_id == held.contender.as_str() && row.version == held.token.store();
            if !same || row.is_free() {
                let owner = row.owner();
                return Passed::Answered(owner.map(|owner| Answer::refused(owner, row.now())));
            }
            let lasts_from = row.transition_at.saturating_sub(millis(held.terms.lease()));
            if now > 0 && lasts_from >= now {
                Passed::Answered(row.won())
            } else {
                Passed::Skipped
            }
        });
        Ok(passed.collect())
    }
}

impl Renewing for MySql {
    async fn renew_some(&self, terms: &LeaseTerms, some: &[Held]) -> Vec<Passed> {
        let renew = Renew {
            to: self.to(),
            skips: self.0.skips,
            terms: *terms,
            held: some.to_vec(),
        };
        let renewed = match self.0.pool.ask_urgently(renew, Effect::Writes).await {
            Ok((rows, now)) if rows == some.len() as u64 => {
                self.0.dial.set(now);
                let now = StoreTime::from_millis(now);
                let extended = |held| Passed::Answered(Ok(extended(held, now)));
                return some.iter().map(extended).collect();
            }
            Ok((_, now)) => self.which(some, now).await,
            Err(error) => Err(error),
        };
        renewed.unwrap_or_else(|error| {
            let about = |held: &Held| Passed::Answered(Err(error.clone().with_mutex(&held.name)));
            some.iter().map(about).collect()
        })
    }
}

/// The answer to a renewal; when the grant began is not asked again.
fn extended(held: &Held, now: StoreTime) -> Answer {
    let owner = MutexOwner::foreign(held.contender.clone())
        .owning_until(now + held.terms.lease())
        .with_token(held.token);
    Answer::won(owner, now)
}

impl fmt::Debug for MySql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySql")
            .field("pool", &self.0.pool)
            .field("table", &self.0.statements.table)
            .finish_non_exhaustive()
    }
}

impl Backend for MySql {
    fn profile(&self) -> Profile {
        Profile::poll("mysql", POLL)
            .without_nonce()
            .looking_every(Duration::from_secs(10))
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let to = self.to();
        let mut layout = self.layout();
        if !layout.has_room_for(&bid.contender) {
            layout = self.layout_again().await?;
            if !layout.has_room_for(&bid.contender) {
                return Err(schema::too_narrow(&to));
            }
        }
        for pause in PAUSES {
            if !pause.is_zero() {
                self.0.pool.clock().sleep(pause).await;
            }
            let take = Take {
                to: self.to(),
                skips: self.0.skips,
                bid: bid.clone(),
                below: layout.version_limit,
            };
            if let Some(id) = self.write(take).await? {
                return self.granted(bid, id);
            }
            let (Some(row), _) = self.find(&bid.name).await? else {
                // A row without an owner is nothing to undo.
                let name = bid.name.clone();
                self.read(Insert {
                    to: self.to(),
                    name,
                })
                .await?;
                continue;
            };
            if row.mutex != bid.name.as_str() {
                return Err(schema::collision(&to, &row.mutex).with_mutex(&bid.name));
            }
            if row.is_free() {
                if row.version >= layout.version_limit {
                    layout = self.layout_again().await?;
                    if row.version >= layout.version_limit {
                        return Err(schema::version_ended(&to).with_mutex(&bid.name));
                    }
                }
                // It ended, or was freed, between the two statements.
                continue;
            }
            let seen = bid.seen.map_or(0, FencingToken::store);
            let is_ours = bid.unique_id && row.owner_id == bid.contender.as_str();
            if is_ours && row.version > seen {
                return row.won();
            }
            return Ok(Answer::refused(row.owner()?, row.now()));
        }
        Err(locked(&bid.name))
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        renew(self, &self.0.pool, held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.free(&held.name, Free::Held(self.to(), held.clone()))
            .await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        if !bid.unique_id {
            // Its orphan cannot be told from a twin's grant; its lease ends it.
            return self.0.pool.check_open();
        }
        self.write(Free::Left(self.to(), bid.clone()))
            .await
            .map(drop)
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.refusal(name).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let (hints, must_begin) = self.0.watch.add(interest);
        if must_begin {
            let pool = &self.0.pool;
            let look = Looker(pool.clone(), self.to());
            let watch = poll(Arc::clone(&self.0.watch), look, pool.clock().clone());
            pool.runtime().spawn(watch);
        }
        hints
    }

    async fn close(&self) -> Result<()> {
        self.0.watch.close();
        self.0.pool.close().await;
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

impl Inventory for MySql {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.list_page(page).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.prune_step(prune).await
    }
}

impl Administration for MySql {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.free(name, Free::Revoked(self.to(), name.clone(), token))
            .await
    }

    async fn check(&self) -> Vec<Finding> {
        self.survey().await
    }
}

impl Ledger for MySql {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.read(ledger::Read(self.to(), name.clone())).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.ledgers(page).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let (to, held, claim) = (self.to(), held.clone(), claim.clone());
        self.write(ledger::Start { to, held, claim }).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let (to, held, end) = (self.to(), held.clone(), *end);
        self.write(ledger::Finish { to, held, end }).await
    }
}

/// Looks at rows for all who wait.
struct Looker(Pool<Connector>, Arc<Statements>);

impl Look for Looker {
    async fn look(&self, names: Vec<MutexName>) -> Result<Vec<Seen>> {
        let mut seen = Vec::new();
        for names in names.chunks(200) {
            let find = FindMany {
                to: Arc::clone(&self.1),
                names: names.to_vec(),
            };
            for row in self.0.ask(find, Effect::Reads).await? {
                let owner = (!row.is_free()).then_some(row.owner_id);
                seen.push(Seen {
                    name: row.mutex,
                    owner,
                });
            }
        }
        Ok(seen)
    }
}
