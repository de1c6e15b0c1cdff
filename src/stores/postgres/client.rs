//! [`Postgres`]: a client of a PostgreSQL server.

use std::fmt;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::asks::{Many, One, Said};
use super::driver::Connector;
use super::ledger;
use super::listen::Listening;
use super::schema::{self, Create, Inspect, Schedules};
use super::statements::Statements;
use super::wire::Wire;
use crate::backend::{
    Answer, Backend, Bid, Claim, ClaimAnswer, Finding, Held, Hints, Interest, LedgerEntry, Ledgers,
    Listing, Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, LeaseTerms, MutexName, MutexOwner, StoreTime};
use crate::stores::sql::{
    Ask, Batch, Ears, Effect, Limits, Look, POLL, Passed, Passes, Pool, Row, Seen, Settings,
    page as page_of, poll,
};

/// How often a refusal that shows nobody is looked at again: a race was lost
/// to somebody whom the statement's snapshot could not see.
const LOOKS: usize = 3;

/// A client of a PostgreSQL server; clones are the same client.
#[derive(Clone)]
pub struct Postgres(Arc<Inner>);

struct Inner {
    pool: Pool<Connector>,
    ears: Arc<Ears>,
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
        to.keeps_notes(found.schedule == Schedules::WithNotes);
        Ok(Self(Arc::new(Inner {
            pool,
            ears: Arc::default(),
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

    async fn renew_batch(&self, batch: &Batch) -> Vec<Result<Answer>> {
        let mut passes = Passes::over(&batch.held);
        while let Some(some) = passes.next(self.0.pool.clock()).await {
            passes.note(self.renew_some(&batch.terms, &some).await);
        }
        passes.answers()
    }

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
fn owner(row: &Row) -> Result<MutexOwner> {
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
        let mut answers: Vec<_> = held.iter().map(|_| None).collect();
        let mut batches = Batch::split(held);
        if batches.len() == 1 {
            let batch = batches.remove(0);
            for (place, answer) in batch.places.iter().zip(self.renew_batch(&batch).await) {
                answers[*place] = Some(answer);
            }
        } else {
            let mut tasks = JoinSet::new();
            for batch in batches {
                let client = self.clone();
                let task = async move {
                    let answers = client.renew_batch(&batch).await;
                    (batch.places, answers)
                };
                tasks.spawn_on(task, self.0.pool.runtime());
            }
            while let Some(Ok((places, batch))) = tasks.join_next().await {
                for (place, answer) in places.into_iter().zip(batch) {
                    answers[place] = Some(answer);
                }
            }
        }
        answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(|| Err(unanswered())))
            .collect()
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
        let (hints, must_begin) = self.0.ears.add(interest);
        if !must_begin {
            return hints;
        }
        let pool = &self.0.pool;
        let (ears, clock) = (Arc::clone(&self.0.ears), pool.clock().clone());
        if self.0.notify {
            let listening = Listening {
                ears,
                options: pool.driver().options.clone(),
                statements: Arc::clone(self.statements()),
                limits: self.0.limits,
                clock,
            };
            pool.runtime().spawn(listening.run());
        } else {
            pool.runtime()
                .spawn(poll(ears, Looker(pool.clone()), clock));
        }
        hints
    }

    async fn list(&self, page: &Page) -> Result<Listing> {
        let ask = match &page.names {
            Some(names) => Many::find(self.statements(), self.wire(), names),
            None => {
                let after = page.after.as_ref().map_or("", MutexName::as_str);
                let most = page.limit.saturating_add(1);
                Many::list(self.statements(), self.wire(), after, most)
            }
        };
        let said = self.read(ask).await?;
        let now = said.first().map_or(StoreTime::ZERO, Said::now);
        let rows = said.iter().filter_map(|said| said.row.as_ref());
        let told = rows.filter(|row| !row.is_free() || row.fault().is_some());
        let entries = told.map(|row| row.entry(owner(row))).collect();
        Ok(page_of(entries, page, now))
    }

    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        if token.is_none() && self.mend(name).await? {
            let find = One::find(self.statements(), self.wire(), name);
            let now = self.read(find).await?.now();
            return Ok(Answer::won(MutexOwner::NONE, now));
        }
        self.free(One::revoke(self.statements(), self.wire(), name, token))
            .await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.prune_step(prune).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.survey().await
    }

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

    async fn close(&self) -> Result<()> {
        self.0.ears.close();
        self.0.pool.close().await;
        Ok(())
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
