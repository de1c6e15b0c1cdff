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
use super::job::{Job, Order, Question};
use super::shared_connection::SharedConnection;
use super::wake_file::POLL;
use super::worker::{Worker, work};
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
    jobs: Option<Sender<Box<dyn Job>>>,
    shared: Arc<SharedConnection>,
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
    let wake = eventfd(0, flags).map_err(|error| fail(error.into()))?;
    let (jobs, queue) = channel();
    let (end, ended) = watch::channel(End::NotYet);
    let (tell, opened) = oneshot::channel();
    let thread = Thread { queue, end };
    std::thread::Builder::new()
        .name("tenure-sqlite".into())
        .spawn(move || thread.run(config, wake, tell))
        .map_err(fail)?;
    let opened = opened.await.unwrap_or_else(|_| Err(broken()))?;
    Ok(Sqlite(Arc::new(Client {
        path,
        polled: opened.polled,
        jobs: Some(jobs),
        shared: opened.shared,
        ended,
    })))
}

struct Thread {
    queue: Receiver<Box<dyn Job>>,
    end: watch::Sender<End>,
}

/// What the thread has opened.
struct Opened {
    shared: Arc<SharedConnection>,
    polled: bool,
}

impl Thread {
    fn run(self, config: Config, wake: OwnedFd, tell: oneshot::Sender<Result<Opened>>) {
        let worker = match Worker::open(config) {
            Ok(worker) => worker,
            Err(error) => return drop(tell.send(Err(error))),
        };
        let polled = worker.wake_file.is_polled();
        let shared = Arc::new(SharedConnection::new(worker, wake));
        let opened = Opened {
            shared: Arc::clone(&shared),
            polled,
        };
        if tell.send(Ok(opened)).is_ok() {
            work(&shared, &self.queue);
        }
        shared.close();
        // The file is closed; who waits for an answer gets none.
        drop(self.queue);
        self.end.send_replace(End::Closed);
    }
}

impl Drop for Client {
    /// The thread notices that no client can give it jobs any more.
    fn drop(&mut self) {
        drop(self.jobs.take());
        self.wake_thread();
    }
}

impl Client {
    fn wake_thread(&self) {
        // Cannot block: the counter would have to reach 2⁶⁴.
        let _ = rustix::io::write(&self.shared.wake, &1_u64.to_ne_bytes());
    }

    fn give(&self, job: impl Job + 'static) -> Result<()> {
        let jobs = self.jobs.as_ref().expect("it is not being dropped");
        self.shared.announce();
        jobs.send(Box::new(job)).map_err(|_| self.gone())?;
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
    /// Does `work` here, on the thread of the caller; `None` when it would have
    /// to wait.
    async fn at_once<T>(&self, work: impl FnOnce(&mut Worker) -> Option<T>) -> Option<T> {
        // Nothing here ever waits: others of the runtime must get their turn.
        tokio::task::coop::consume_budget().await;
        self.0.shared.at_once(work)
    }

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

    /// Does `work` on the thread, which is told whether the caller still waits
    /// for it.
    async fn insist<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Worker, bool) -> Option<Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (tell, told) = oneshot::channel();
        self.0.give(Question::new(work, tell))?;
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

    /// Frees something. Done also when the caller no longer waits for the answer:
    /// others may wait for the mutex.
    async fn free(
        &self,
        work: impl FnOnce(&mut Database) -> Result<Answer> + Send + 'static,
    ) -> Result<Answer> {
        self.insist(|worker, _| Some(worker.free(work))).await
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
        if let Some(answer) = self.at_once(|worker| worker.acquire_at_once(bid)).await {
            return answer;
        }
        let bid = bid.clone();
        self.ask(move |worker| worker.acquire(&bid)).await
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
        let freed = self.at_once(|worker| worker.release_at_once(held)).await;
        if let Some(answer) = freed {
            return answer;
        }
        let held = held.clone();
        self.free(move |database| database.write(|table| table.release(&held)))
            .await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        if let Some(left) = self.at_once(|worker| worker.leave_at_once(bid)).await {
            return left;
        }
        let bid = bid.clone();
        let left = self.free(move |database| {
            // Whatever this bid has asked before has been done by now: one
            // thing is done after the other.
            match database.read(|table| table.answer_unless_owned_by(&bid))? {
                Some(answer) => Ok(answer),
                None => database.write(|table| table.leave(&bid)),
            }
        });
        left.await.map(drop)
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        if let Some(owner) = self.at_once(|worker| worker.owner_at_once(name)).await {
            return owner;
        }
        let name = name.clone();
        self.read(move |database| database.read(|table| table.owner(&name)))
            .await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let (sender, stream) = hints();
        let interest = interest.clone();
        let given = self.0.give(Order::new(move |worker| {
            worker.add_listener(&interest, sender);
        }));
        match given {
            Ok(()) => Hints::new(stream),
            Err(_closed) => Hints::ended(),
        }
    }

    async fn close(&self) -> Result<()> {
        // An error here: it is closed already.
        let _ = self.0.give(Order::new(|worker| worker.closing = true));
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
