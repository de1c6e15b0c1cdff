//! [`Sqlite`]: a client of a SQLite file.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};
use tokio::sync::{oneshot, watch};

use super::config::Config;
use super::database::Database;
use super::wake_file::POLL;
use super::worker::{Job, Worker};
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd, Wakeup,
};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, MutexName};
use crate::stores::kit::hints;

/// A client of a SQLite file; clones are the same client.
///
/// [`stores::open`](crate::stores::open) makes one from a URL.
#[derive(Clone)]
pub struct Sqlite(Arc<Client>);

struct Client {
    path: PathBuf,
    polled: bool,
    /// `None` only while it is being dropped.
    jobs: Option<Sender<Job>>,
    /// Wakes the thread.
    wake: Arc<OwnedFd>,
    ended: watch::Receiver<End>,
}

/// How the thread ended, if it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotYet,
    Closed,
}

/// Opens a file, on a thread of its own.
pub(super) async fn connect(config: Config) -> Result<Sqlite> {
    let path = config.path.clone();
    let fail = |error: std::io::Error| {
        Error::new(ErrorKind::Store, Outcome::DidNot)
            .with_message("cannot start the thread of the SQLite store")
            .with_source(error)
    };
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let wake = Arc::new(eventfd(0, flags).map_err(|error| fail(error.into()))?);
    let (jobs, queue) = channel();
    let (end, ended) = watch::channel(End::NotYet);
    let (tell, opened) = oneshot::channel();
    let thread = Thread {
        queue,
        wake: Arc::clone(&wake),
        end,
    };
    std::thread::Builder::new()
        .name("tenure-sqlite".into())
        .spawn(move || thread.run(config, tell))
        .map_err(fail)?;
    let polled = opened.await.unwrap_or_else(|_| Err(broken()))?;
    Ok(Sqlite(Arc::new(Client {
        path,
        polled,
        jobs: Some(jobs),
        wake,
        ended,
    })))
}

struct Thread {
    queue: Receiver<Job>,
    wake: Arc<OwnedFd>,
    end: watch::Sender<End>,
}

impl Thread {
    fn run(self, config: Config, tell: oneshot::Sender<Result<bool>>) {
        let worker = match Worker::open(config) {
            Ok(worker) => worker,
            Err(error) => return drop(tell.send(Err(error))),
        };
        if tell.send(Ok(worker.wake_file.is_polled())).is_ok() {
            worker.work(&self.queue, &self.wake);
        }
        // The file is closed; who waits for an answer gets none.
        drop(self.queue);
        self.end.send_replace(End::Closed);
    }
}

impl Drop for Client {
    /// The thread notices that nobody can give it jobs any more.
    fn drop(&mut self) {
        drop(self.jobs.take());
        self.wake_thread();
    }
}

impl Client {
    fn wake_thread(&self) {
        // Cannot block: the counter would have to reach 2⁶⁴.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn give(&self, job: Job) -> Result<()> {
        let jobs = self.jobs.as_ref().expect("it is not being dropped");
        jobs.send(job).map_err(|_| self.gone())?;
        self.wake_thread();
        Ok(())
    }

    /// Why there is no thread.
    fn gone(&self) -> Error {
        match *self.ended.borrow() {
            End::Closed => Error::closed("this client of the SQLite store"),
            End::NotYet => broken(),
        }
    }
}

/// The thread has ended without a word: one of our bugs.
fn broken() -> Error {
    Error::new(ErrorKind::Store, Outcome::MayHave)
        .with_message("the thread of the SQLite store has panicked: open it anew")
}

impl Sqlite {
    /// Does `work` on the thread, after everything that was asked before.
    ///
    /// # Cancel safety
    /// Dropped before the thread came to it, it is not done at all: the file
    /// may have been locked for long, and what is still wanted comes first.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Worker) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.insist(|worker, wanted| wanted.then(|| work(worker)))
            .await
    }

    /// Does `work` on the thread, which is told whether anybody still waits
    /// for it.
    async fn insist<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Worker, bool) -> Option<Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (tell, told) = oneshot::channel();
        self.0.give(Box::new(move |worker| {
            if let Some(answer) = work(worker, !tell.is_closed()) {
                let _ = tell.send(answer);
            }
        }))?;
        match told.await {
            Ok(answer) => answer,
            Err(_) => {
                let mut ended = self.0.ended.clone();
                let _ = ended.wait_for(|end| *end == End::Closed).await;
                Err(self.0.gone())
            }
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.ask(|worker| work(&mut worker.database)).await
    }

    /// Frees something, and writes to the wake file if that was so. Done also when
    /// the caller has gone: a waiter waits for the mutex.
    async fn free(
        &self,
        work: impl FnOnce(&mut Database) -> Result<Answer> + Send + 'static,
    ) -> Result<Answer> {
        self.insist(|worker, _| {
            let answer = work(&mut worker.database);
            if answer.as_ref().is_ok_and(Answer::is_won) {
                worker.wake_file.write();
            }
            Some(answer)
        })
        .await
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite")
            .field("path", &self.0.path)
            .finish_non_exhaustive()
    }
}

impl Backend for Sqlite {
    fn profile(&self) -> Profile {
        let mut profile = Profile::push("sqlite").monotonic();
        if self.0.polled {
            profile.wakeup = Wakeup::Poll(POLL);
        }
        profile
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let bid = bid.clone();
        self.ask(move |worker| {
            // A look first: who must wait takes no lock and writes nothing.
            let looked = worker.database.read(|table| table.answer_if_owned(&bid))?;
            if let Some(answer) = looked {
                return Ok(answer);
            }
            let answer = worker.database.write(|table| table.acquire(&bid))?;
            if answer.is_won() {
                worker.wake_file.touch();
            }
            Ok(answer)
        })
        .await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let all = held.to_vec();
        let renewed = self.read(move |database| database.write(|table| table.renew_all(&all)));
        match renewed.await {
            Ok(answers) => answers,
            Err(error) => held.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        let held = held.clone();
        self.free(move |database| database.write(|table| table.release(&held)))
            .await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        let bid = bid.clone();
        let left = self.free(move |database| {
            // Whatever this bid has asked before has been done by now: the
            // thread does one thing after the other.
            match database.read(|table| table.answer_unless_owned_by(&bid))? {
                Some(answer) => Ok(answer),
                None => database.write(|table| table.leave(&bid)),
            }
        });
        left.await.map(drop)
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        let name = name.clone();
        self.read(move |database| database.read(|table| table.owner(&name)))
            .await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let (sender, stream) = hints();
        let interest = interest.clone();
        let given = self.0.give(Box::new(move |worker| {
            worker.registry.add(&interest, sender, &mut worker.database);
        }));
        match given {
            Ok(()) => Hints::new(stream),
            Err(_closed) => Hints::ended(),
        }
    }

    async fn close(&self) -> Result<()> {
        // An error here: it is closed already.
        let _ = self.0.give(Box::new(|worker| worker.closing = true));
        let mut ended = self.0.ended.clone();
        match ended.wait_for(|end| *end == End::Closed).await {
            Ok(_) => Ok(()),
            Err(_) => Err(broken()),
        }
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

impl Inventory for Sqlite {
    async fn list(&self, page: &Page) -> Result<Listing> {
        let page = page.clone();
        self.read(move |database| database.read(|table| table.list(&page)))
            .await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        let prune = prune.clone();
        self.read(move |database| database.write(|table| table.prune(&prune)))
            .await
    }
}

impl Administration for Sqlite {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        let name = name.clone();
        self.free(move |database| database.write(|table| table.revoke(&name, token)))
            .await
    }

    async fn check(&self) -> Vec<Finding> {
        let checked = self.ask(|worker| Ok(worker.check())).await;
        checked.unwrap_or_else(|error| {
            vec![Finding::bad(
                "file",
                error.to_string(),
                "open the store anew",
            )]
        })
    }
}

impl Ledger for Sqlite {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        let name = name.clone();
        self.read(move |database| database.read(|table| table.read_ledger(&name)))
            .await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        let page = page.clone();
        self.read(move |database| database.read(|table| table.list_ledgers(&page)))
            .await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let (held, claim) = (held.clone(), claim.clone());
        self.read(move |database| database.write(|table| table.claim_tick(&held, &claim)))
            .await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let (held, end) = (held.clone(), *end);
        self.read(move |database| database.write(|table| table.finish_tick(&held, &end)))
            .await
    }
}
