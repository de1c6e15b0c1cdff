//! A store of ownership of your own, in five steps.
//!
//! The store here is a [`Whiteboard`]: a table in shared memory that everybody
//! can read and write, and that sends no hints. It is as little as a store can
//! be, so that what Tenure needs of yours is easy to see. Replace the table by
//! what you have.
//!
//! 1. **Say what it can do** in [`Backend::profile`]. This one must be looked
//!    at ([`Profile::poll`]), serves no particular order, has no column for a
//!    nonce. Tenure goes by the profile: do not promise more than the store
//!    keeps.
//! 2. **Make a grant one atomic step.** `acquire` must decide and write at
//!    once: a lock here, one statement or script on a server. It takes what is
//!    free, under a token larger than every one before; it never renews. See
//!    [`mod@table`].
//! 3. **Compare the token wherever a grant is named.** `renew` and `release` go
//!    by id *and* token (and nonce, if you keep it), and refuse anything else
//!    without changing it.
//! 4. **Wake who waits.** `changes` gives hints, not facts: it may say too
//!    much, and lose some. A store without push looks at its profile's
//!    interval. See [`mod@watch`].
//! 5. **Prove it.** `tests/contract.rs` describes the store as a `Subject` and
//!    has a test for each sentence of the contract.
//!
//! That is all that locks and leaders need. What people see and do is optional:
//! this store can tell its mutexes from other data ([`Backend::inventory`]), and
//! lets them be freed by force ([`Backend::administration`]). It keeps no ledger
//! of schedules, so it does not mention one.
//!
//! Then hand it over: `Coordinator::with_backend(client, terms)`.

pub mod table;
pub mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use table::Table;
use tenure::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, Backend, Bid, Finding, Held, Hints,
    Interest, Inventory, Listing, Page, Profile, Prune, Pruned,
};
use tenure::clock::Clock;
use tenure::model::{FencingToken, MutexName};
use tenure::{Error, ErrorKind, Outcome, Result};
use tokio::sync::watch as signal;

/// How often the table is looked at for those who wait.
pub const INTERVAL: Duration = Duration::from_millis(50);

/// The store: what all clients share.
#[derive(Debug)]
pub struct Whiteboard {
    table: Table,
}

impl Whiteboard {
    /// An empty one, whose leases follow `clock`.
    #[must_use]
    pub fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            table: Table::new(clock),
        })
    }
}

/// A client of a [`Whiteboard`]: the backend.
#[derive(Debug)]
pub struct Client {
    board: Arc<Whiteboard>,
    closed: AtomicBool,
    /// Closed when the client is: its streams end with it.
    open: signal::Sender<bool>,
}

impl Client {
    /// A new client of `board`.
    #[must_use]
    pub fn new(board: &Arc<Whiteboard>) -> Self {
        Self {
            board: Arc::clone(board),
            closed: AtomicBool::new(false),
            open: signal::Sender::new(true),
        }
    }

    fn table(&self) -> Result<&Table> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, Outcome::DidNot));
        }
        Ok(&self.board.table)
    }
}

impl Backend for Client {
    fn profile(&self) -> Profile {
        Profile::poll("whiteboard", INTERVAL)
            .monotonic()
            .without_nonce()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.table()?.acquire(bid)
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let one = |held| self.table().map(|table| table.renew(held));
        held.iter().map(one).collect()
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        Ok(self.table()?.release(held))
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.table()?.leave(bid);
        Ok(())
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        Ok(self.table()?.owner(name))
    }

    fn changes(&self, interest: &Interest) -> Hints {
        watch::watch(&self.board, interest, self.open.subscribe())
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.open.send_replace(false);
        Ok(())
    }

    fn inventory(&self) -> Option<AnyInventory<'_>> {
        Some(AnyInventory::new(self))
    }

    fn administration(&self) -> Option<AnyAdministration<'_>> {
        Some(AnyAdministration::new(self))
    }
}

impl Inventory for Client {
    async fn list(&self, page: &Page) -> Result<Listing> {
        Ok(self.table()?.list(page))
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        Ok(self.table()?.prune(prune))
    }
}

impl Administration for Client {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        Ok(self.table()?.revoke(name, token))
    }

    async fn check(&self) -> Vec<Finding> {
        vec![Finding::good("whiteboard", "readable and writable")]
    }
}
