//! [`ZooKeeper`]: a client with its session.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::runtime::Handle;

use super::cleanup::Reaping;
use super::config::Config;
use super::nodes::BidPlaces;
use super::runs::Runs;
use super::session::{Session, unreachable};
use super::watch::Registry;
use super::watch_room::WatchRoom;
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::model::{FencingToken, LeaseTerms, MutexName, MutexOwner};
use crate::stores::kit::{Closing, HeardClock};
use crate::sync::Mutex;

/// How often a waiter looks without having been told. Watches are not lost,
/// so this is for nodes that an operator deleted by hand, and for a loser to
/// learn of a new leader that was not the one before it.
const SAFETY_LOOK: Duration = Duration::from_secs(5);

/// How long a close waits for the server to end the session.
const FAREWELL: Duration = Duration::from_secs(2);

/// A client of a ZooKeeper ensemble, with a session of its own. Clones are the
/// same client; the session ends when the last is dropped or any is closed.
#[derive(Clone)]
pub struct ZooKeeper {
    pub(super) store: Arc<Store>,
    _end: Arc<End>,
}

/// What the parts of a client share.
pub(super) struct Store {
    pub(super) config: Config,
    pub(super) clock: Clock,
    pub(super) runtime: Handle,
    /// The time of the ensemble.
    pub(super) time: HeardClock,
    pub(super) places: BidPlaces,
    pub(super) runs: Runs,
    pub(super) watch_room: WatchRoom,
    pub(super) registry: Arc<Registry>,
    /// Told when there may be something to delete.
    pub(super) reaping: Reaping,
    slot: Mutex<Slot>,
    /// The owner's node of each mutex, as last read.
    seen: Mutex<HashMap<MutexName, (String, MutexOwner)>>,
    closing: Closing,
}

/// The session, and what is known while there is none.
struct Slot {
    session: Option<Arc<Session>>,
    terms: LeaseTerms,
    trouble: Option<Error>,
}

/// Ends the client's tasks, and with them its session.
struct End(Arc<Store>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl ZooKeeper {
    /// Makes a session.
    pub(super) async fn connect(config: Config, clock: Clock) -> Result<Self> {
        let runtime = Handle::try_current().map_err(|_| {
            Error::wrong_state("a ZooKeeper store is opened inside a tokio runtime")
        })?;
        let session = Arc::new(Session::connect(&config, &clock).await?);
        let store = Arc::new(Store {
            config,
            runtime,
            time: HeardClock::guessed(clock.now()),
            clock,
            places: BidPlaces::default(),
            runs: Runs::default(),
            watch_room: WatchRoom::default(),
            registry: Arc::default(),
            reaping: Reaping::default(),
            slot: Mutex::new(Slot {
                session: Some(Arc::clone(&session)),
                terms: session.terms(),
                trouble: None,
            }),
            seen: Mutex::default(),
            closing: Closing::of("this client of ZooKeeper"),
        });
        store.spawn(Arc::clone(&store).supervise(session));
        store.spawn(Arc::clone(&store).reap());
        let _end = Arc::new(End(Arc::clone(&store)));
        Ok(Self { store, _end })
    }
}

impl Store {
    /// The session, if it is connected: a request that waits for a connection
    /// would be sent when its caller has long given up.
    pub(super) fn session(&self) -> Result<Arc<Session>> {
        self.closing.check_open()?;
        let slot = self.slot.lock();
        match (&slot.session, &slot.trouble) {
            (Some(session), _) if session.is_connected() => Ok(Arc::clone(session)),
            (None, Some(trouble)) => Err(trouble.clone()),
            _ => Err(unreachable(
                "the connection to ZooKeeper is being made again",
            )),
        }
    }

    /// There is a session, or why there is none, or nothing is known.
    pub(super) fn set_session(&self, session: Option<Result<Arc<Session>>>) {
        let mut slot = self.slot.lock();
        match session {
            Some(Ok(session)) if !self.closing.is_closed() => {
                slot.terms = session.terms();
                slot.session = Some(session);
                slot.trouble = None;
            }
            Some(Err(trouble)) => slot.trouble = Some(trouble),
            _ => slot.session = None,
        }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, HashMap<MutexName, (String, MutexOwner)>> {
        self.seen.lock()
    }

    /// Runs `task` until the client is closed.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        self.runtime.spawn(async move {
            closing.unless_closed(task).await;
        });
    }

    /// Ends tasks and streams, and gives back the session.
    fn end(&self) -> Option<Arc<Session>> {
        self.closing.close();
        self.registry.close();
        self.places.forget_all();
        self.runs.forget_all();
        self.slot.lock().session.take()
    }
}

impl fmt::Debug for ZooKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ZooKeeper")
            .field(&self.store.config)
            .finish()
    }
}

impl Backend for ZooKeeper {
    fn profile(&self) -> Profile {
        Profile::push("zookeeper")
            .ordered()
            .monotonic()
            .session(self.store.slot.lock().terms)
            .looking_every(SAFETY_LOOK)
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.store.config.paths.check(&bid.name)?;
        self.store.acquire(bid).await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        self.store.renew(held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.store.config.paths.check(&held.name)?;
        self.store.release(held).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        // It never had anything.
        if self.store.config.paths.check(&bid.name).is_err() {
            return Ok(());
        }
        self.store.leave(bid).await
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.store.config.paths.check(name)?;
        let session = self.store.session()?;
        self.store.refusal(&session, name).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let Some((stream, needs_observer)) = self.store.registry.add(interest) else {
            return Hints::ended();
        };
        if needs_observer && self.store.config.paths.check(&interest.name).is_ok() {
            let store = Arc::clone(&self.store);
            self.store.spawn(store.observe(interest.name.clone()));
        }
        Hints::new(stream)
    }

    async fn close(&self) -> Result<()> {
        if let Some(session) = self.store.end() {
            let clock = &self.store.clock;
            // A server that does not answer ends the session by itself.
            let limit = clock.now() + FAREWELL;
            clock.limit(limit, session.ended()).await;
        }
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

impl Inventory for ZooKeeper {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.store.list(page).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.store.prune(prune).await
    }
}

impl Administration for ZooKeeper {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.store.config.paths.check(name)?;
        self.store.revoke(name, token).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.store.check().await
    }
}

impl Ledger for ZooKeeper {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.store.read_ledger(name).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.store.list_ledgers(page).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        self.store.claim_tick(held, claim).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        self.store.finish_tick(held, end).await
    }
}
