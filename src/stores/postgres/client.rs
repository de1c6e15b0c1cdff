//! [`Postgres`]: a client of a PostgreSQL server.

use std::fmt;
use std::sync::Arc;

use super::calls::{Many, One, Said};
use super::connect::Connector;
use super::ledger;
use super::schema::{self, Create, Inspect, Schedules};
use super::statements::Statements;
use super::watch::Listening;
use super::wire::Wire;
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, LeaseTerms, MutexName, MutexOwner};
use crate::stores::sql::{
    Ask, Effect, Limits, Look, POLL, Passed, Pool, Renewing, Row, Seen, Settings, Watch, poll,
    renew,
};

/// How often a refusal that shows nobody is looked at again: a race was lost
/// to somebody whom the statement's snapshot could not see.
const LOOKS: usize = 3;

/// A client of a PostgreSQL server; clones are the same client.
#[derive(Clone)]
pub struct Postgres(Arc<Inner>);

struct Inner {
    pool: Pool<Connector>,
    watch: Arc<Watch>,
    limits: Limits,
    notify: bool,
}

impl Postgres {
    pub(super) async fn open(
        connector: Connector,
        settings: &Settings,
        notify: bool,
        clock: Clock,
    ) -> Result<Self> {
        let (to, wire) = (Arc::clone(&connector.statements), connector.wire);
        let pool = Pool::new(connector, settings.connections, settings.limits, clock);
        let inspect = || pool.ask(Inspect(Arc::clone(&to), wire), Effect::Reads);
        let mut found = inspect().await?;
        if settings.create && (found.columns.is_empty() || found.schedule.lacks_something()) {
            match pool.ask(Create(Arc::clone(&to)), Effect::Writes).await {
                Ok(()) => found = inspect().await?,
                // Without schedules it serves as well.
                Err(error) if !found.columns.is_empty() => {
                    tracing::debug!(%error, "the table of schedules cannot be made");
                }
                Err(error) => return Err(schema::not_made(&to, error)),
            }
        }
        if found.columns.is_empty() {
            return Err(schema::missing(&to));
        }
        schema::check(&to, &found.columns)?;
        if let Some(wrong) = &found.wrong {
            return Err(schema::not_ours(&to, wrong));
        }
        to.keeps_notes(found.schedule == Schedules::WithNotes);
        Ok(Self(Arc::new(Inner {
            pool,
            watch: Arc::default(),
            limits: settings.limits,
            notify,
        })))
    }

    pub(super) fn pool(&self) -> &Pool<Connector> {
        &self.0.pool
    }

    pub(super) fn statements(&self) -> &Arc<Statements> {
        &self.0.pool.driver().statements
    }

    pub(super) fn wire(&self) -> Wire {
        self.0.pool.driver().wire
    }

    pub(super) async fn read<A: Ask<sqlx::PgConnection>>(&self, ask: A) -> Result<A::Reply> {
        self.0.pool.ask(ask, Effect::Reads).await
    }

    pub(super) async fn write<A: Ask<sqlx::PgConnection>>(&self, ask: A) -> Result<A::Reply> {
        self.0.pool.ask(ask, Effect::Writes).await
    }

    async fn free(&self, one: One) -> Result<Answer> {
        let said = self.write(one).await?;
        if said.won {
            return Ok(Answer::won(MutexOwner::NONE, said.now()));
        }
        refused(&said)
    }
}

impl Renewing for Postgres {
    async fn renew_some(&self, terms: &LeaseTerms, some: &[Held]) -> Vec<Passed> {
        let renew = Many::renew(self.statements(), self.wire(), terms, some);
        match self.0.pool.ask_urgently(renew, Effect::Writes).await {
            Ok(said) if said.len() == some.len() => {
                let answer = |(said, held): (&Said, &Held)| renewed(said, held);
                said.iter().zip(some).map(answer).collect()
            }
            Ok(_) => some
                .iter()
                .map(|_| Passed::Answered(Err(unanswered())))
                .collect(),
            Err(error) => {
                let about =
                    |held: &Held| Passed::Answered(Err(error.clone().with_mutex(&held.name)));
                some.iter().map(about).collect()
            }
        }
    }
}

/// The owner in a row, with its token: only ours write this table.
pub(super) fn owner(row: &Row) -> Result<MutexOwner> {
    let owner = row.owner()?;
    if owner.owner_id().is_none() {
        return Ok(owner);
    }
    Ok(owner.with_token(row.token()?))
}

fn refused(said: &Said) -> Result<Answer> {
    let owner = said.row.as_ref().map_or(Ok(MutexOwner::NONE), owner)?;
    Ok(Answer::refused(owner, said.now()))
}

fn renewed(said: &Said, held: &Held) -> Passed {
    match &said.row {
        Some(row) if said.won => Passed::Answered(row.won()),
        // The grant was there when the statement began, and the row could not
        // be had: somebody holds it, or has just written it.
        Some(row)
            if row.version == held.token.store()
                && row.owner_id == held.contender.as_str()
                && said.nonce == held.nonce.to_string()
                && !row.is_free() =>
        {
            Passed::Skipped
        }
        _ => Passed::Answered(refused(said)),
    }
}

fn unanswered() -> Error {
    Error::new(ErrorKind::Store, Outcome::MayHave)
        .with_message("the server did not answer every renewal of a batch")
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres")
            .field("pool", &self.0.pool)
            .field("table", &self.statements().table)
            .finish_non_exhaustive()
    }
}

impl Backend for Postgres {
    fn profile(&self) -> Profile {
        if self.0.notify {
            Profile::push("postgres")
        } else {
            Profile::poll("postgres", POLL).looking_every(std::time::Duration::from_secs(10))
        }
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let mut said = self
            .write(One::take(self.statements(), self.wire(), bid))
            .await?;
        let mut looks = 0;
        loop {
            let Some(row) = &said.row else {
                if looks == LOOKS {
                    return refused(&said);
                }
                looks += 1;
                said = self
                    .read(One::find(self.statements(), self.wire(), &bid.name))
                    .await?;
                continue;
            };
            if said.won {
                return row.won();
            }
            if row.is_free() && looks < LOOKS {
                looks += 1;
                // Seen free by a fresh look, it is free to take.
                said = if looks == 1 {
                    self.read(One::find(self.statements(), self.wire(), &bid.name))
                        .await?
                } else {
                    self.write(One::take(self.statements(), self.wire(), bid))
                        .await?
                };
                continue;
            }
            let is_ours = said.nonce == bid.nonce.to_string();
            if is_ours && !row.is_free() && row.owner_id == bid.contender.as_str() {
                return row.won();
            }
            return refused(&said);
        }
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        renew(self, &self.0.pool, held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.free(One::release(self.statements(), self.wire(), held))
            .await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        let leave = One::leave(self.statements(), self.wire(), bid);
        self.write(leave).await.map(drop)
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        let find = One::find(self.statements(), self.wire(), name);
        refused(&self.read(find).await?)
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let (hints, must_begin) = self.0.watch.add(interest);
        if !must_begin {
            return hints;
        }
        let pool = &self.0.pool;
        let (watch, clock) = (Arc::clone(&self.0.watch), pool.clock().clone());
        if self.0.notify {
            let listening = Listening {
                watch,
                options: pool.driver().options.clone(),
                statements: Arc::clone(self.statements()),
                limits: self.0.limits,
                clock,
            };
            pool.runtime().spawn(listening.run());
        } else {
            pool.runtime()
                .spawn(poll(watch, Looker(pool.clone()), clock));
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

impl Inventory for Postgres {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.list_page(page).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.prune_step(prune).await
    }
}

impl Administration for Postgres {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        if token.is_none() && self.mend(name).await? {
            let find = One::find(self.statements(), self.wire(), name);
            let now = self.read(find).await?.now();
            return Ok(Answer::won(MutexOwner::NONE, now));
        }
        self.free(One::revoke(self.statements(), self.wire(), name, token))
            .await
    }

    async fn check(&self) -> Vec<Finding> {
        self.survey().await
    }
}

impl Ledger for Postgres {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        let to = Arc::clone(self.statements());
        self.read(ledger::Read(to, self.wire(), name.clone())).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.ledgers(page).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let (to, wire) = (Arc::clone(self.statements()), self.wire());
        let (held, claim) = (held.clone(), claim.clone());
        self.write(ledger::Start {
            to,
            wire,
            held,
            claim,
        })
        .await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let (to, wire) = (Arc::clone(self.statements()), self.wire());
        let (held, end) = (held.clone(), *end);
        self.write(ledger::Finish {
            to,
            wire,
            held,
            end,
        })
        .await
    }
}

/// Looks at rows for all who wait.
struct Looker(Pool<Connector>);

impl Look for Looker {
    async fn look(&self, names: Vec<MutexName>) -> Result<Vec<Seen>> {
        let driver = self.0.driver();
        let find = Many::find(&driver.statements, driver.wire, &names);
        let said = self.0.ask(find, Effect::Reads).await?;
        let rows = said.into_iter().filter_map(|said| said.row);
        let seen = rows.map(|row| Seen {
            owner: (!row.is_free()).then_some(row.owner_id),
            name: row.mutex,
        });
        Ok(seen.collect())
    }
}
