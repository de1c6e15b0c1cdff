//! What a person asks a store: who owns what, is it well, free that one.

use std::time::Duration;

use super::Coordinator;
use crate::backend::{
    Administration, AnyHoldStore, Backend, Finding, Hold, HoldServer, Inventory, Ledger, Listing,
    Page, Profile, Prune, Pruned,
};
use crate::engine::{CoordinatorStatus, StatusChanges, Troubles};
use crate::error::Result;
use crate::model::{LeaseTerms, MutexName, Owner, StoreTime};
use crate::schedule::Schedules;

/// A call that may look at the whole store has so many times the usual time.
const LONG: u32 = 4;

/// A check has at least this long: no lease depends on it, and it is there to
/// name the one that is silent.
const CHECK: Duration = Duration::from_secs(5);

impl Coordinator {
    /// The mutexes of the store, also those of others, a page at a time in the
    /// order of their names, or those of a [page of names](Page::of). What
    /// cannot be made out is an entry with a fault beside the others.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use tenure::Coordinator;
    /// use tenure::backend::Page;
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let guard = coordinator.lock("nightly-report")?.acquire().await?;
    /// let mut page = Page::first(100);
    /// loop {
    ///     let listing = coordinator.list(&page).await?;
    ///     for entry in &listing.entries {
    ///         println!("{}: {:?}", entry.name, entry.owner.remaining(listing.now));
    ///     }
    ///     let Some(next) = listing.next_page(&page) else { break };
    ///     page = next;
    /// }
    /// # drop(guard);
    /// # coordinator.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) over a store that cannot tell its
    /// mutexes from other data; when the store does not answer, or with an
    /// error.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn list(&self, page: &Page) -> Result<Listing> {
        let backend = self.engine.backend();
        self.ask(LONG, async { backend.needed_inventory()?.list(page).await })
            .await
    }

    /// The schedules of the store, also those of others, a page at a time in the
    /// order of their names, or those of a [page of names](Page::of): plan, last
    /// run, how it went, the next one, and who leads. One that cannot be made
    /// out is a report with a fault beside the others. Work that is done
    /// [once in a period](crate::LockGuard::once_per) is told as well.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use std::time::Duration;
    /// use tenure::backend::Page;
    /// use tenure::schedule::ScheduleConfig;
    /// use tenure::Coordinator;
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let hourly = ScheduleConfig::rate(Duration::ZERO, Duration::from_secs(3600))?;
    /// let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    /// let handle = coordinator.scheduler("tidy", hourly)?.start(move |tick| {
    ///     tell.send(tick.number()).ok();
    ///     async {}
    /// })?;
    /// told.recv().await;
    /// let mut page = Page::first(100);
    /// loop {
    ///     let schedules = coordinator.schedules(&page).await?;
    ///     for report in &schedules.reports {
    ///         assert_eq!(report.plan().as_deref(), Some("every 1h"));
    ///         println!("{}: {:?}, next {:?}", report.name, report.result, report.next_due);
    ///     }
    ///     let Some(next) = schedules.next_page(&page) else { break };
    ///     page = next;
    /// }
    /// # handle.stop().await?;
    /// # coordinator.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) over a store that keeps no ledger; when
    /// the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn schedules(&self, page: &Page) -> Result<Schedules> {
        let backend = self.engine.backend();
        let ledgers = async { backend.needed_ledger()?.list_ledgers(page).await };
        let ledgers = self.ask(LONG, ledgers).await?;
        let names: Vec<_> = ledgers
            .entries
            .iter()
            .map(|line| line.name.clone())
            .collect();
        let mutexes = match backend.inventory().is_some() && !names.is_empty() {
            true => self.list(&Page::of(names)).await?.entries,
            false => Vec::new(),
        };
        Ok(Schedules::new(ledgers, &mutexes))
    }

    /// The reentrant locks that are held, where they have a layout of their own
    /// (Redis): those of `names`, or without names all that can be told from
    /// other keys, which are those that have a token. Elsewhere a reentrant lock
    /// is a mutex like any other, and [`list`](Self::list) tells of it.
    ///
    /// # Errors
    /// When the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn reentrant_locks(&self, names: &[MutexName]) -> Result<Vec<Hold>> {
        match self.holds.as_ref().and_then(AnyHoldStore::server) {
            Some(server) => self.ask(LONG, server.held(names)).await,
            None => Ok(Vec::new()),
        }
    }

    /// Who owns `name`, by the store's present word; `None` when it is free.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a name that is not valid; when the
    /// store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn owner(&self, name: impl AsRef<str>) -> Result<Option<Owner>> {
        self.engine.check_open()?;
        let name = MutexName::new(name)?;
        let answer = self.engine.look(&name).await;
        answer
            .map(|answer| answer.present_owner())
            .map_err(|error| error.with_mutex(&name))
    }

    /// The store's present time, as it says beside the owner of `name`, whether
    /// or not there is one.
    ///
    /// # Errors
    /// As [`owner`](Self::owner).
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    #[doc(hidden)]
    pub async fn store_time(&self, name: &MutexName) -> Result<StoreTime> {
        self.engine.check_open()?;
        self.engine.look(name).await.map(|answer| answer.now())
    }

    /// Removes what no process has used for a time from the store: rows, keys and
    /// nodes of mutexes, and of schedules where that is asked for. Tokens go on
    /// rising, and what is owned or waited for stays. All processes that use
    /// the store must know of this: see the store's page in the documentation.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use std::time::Duration;
    /// use tenure::Coordinator;
    /// use tenure::backend::Prune;
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let month = Duration::from_secs(30 * 24 * 3600);
    /// let pruned = coordinator.prune(&Prune::unused_for(month)).await?;
    /// println!("{} mutexes are gone", pruned.mutexes);
    /// # coordinator.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the store does not answer, or with an error. Some may have been
    /// removed by then.
    ///
    /// # Cancel safety
    /// Dropped, it has removed some and leaves the rest.
    pub async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        let mut prune = prune.clone();
        let (mut sum, backend) = (Pruned::default(), self.engine.backend());
        loop {
            let pruning = async { backend.needed_inventory()?.prune(&prune).await };
            let pruned = self.ask(LONG, pruning).await?;
            sum.mutexes += pruned.mutexes;
            sum.schedules += pruned.schedules;
            prune.bookmark = pruned.bookmark;
            if prune.bookmark.is_none() {
                return Ok(sum);
            }
        }
    }

    /// What a person should know about the health and set-up of the store.
    ///
    /// # Errors
    /// [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close),
    /// [`Timeout`](crate::ErrorKind::Timeout) when the store does not answer.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn check(&self) -> Result<Vec<Finding>> {
        let backend = self.engine.backend();
        self.engine.check_open()?;
        let limit = self.terms().call_timeout().max(CHECK);
        let call = async { Ok(backend.needed_administration()?.check().await) };
        self.engine.call_within("inspect", limit, call).await
    }

    /// What fails from now on and is tried again: of locks that are waited for,
    /// campaigns, observers, services and schedules, of this coordinator and its
    /// clones. A waiter that waits for ever wants to say what for. No I/O.
    #[must_use]
    pub fn troubles(&self) -> Troubles {
        self.engine.troubles()
    }

    /// What this coordinator and its clones hold, wait for and lead at this
    /// moment, and whether all is well with the store. No I/O. What the store
    /// knows, also of others, is told by [`list`](Self::list) and
    /// [`schedules`](Self::schedules).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use tenure::{Coordinator, Standing};
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let guard = coordinator.lock("nightly-report")?.acquire().await?;
    /// let status = coordinator.status();
    /// assert!(status.is_store_well);
    /// assert_eq!(status.contenders[0].mutex.as_str(), "nightly-report");
    /// assert_eq!(status.contenders[0].standing, Standing::Owning(guard.token()?));
    /// # drop(guard);
    /// # coordinator.close().await
    /// # }
    /// ```
    #[must_use]
    pub fn status(&self) -> CoordinatorStatus {
        let mut status = self.engine.status();
        status.local_waiters = self.locks.local_waiters();
        // Where they have no layout of their own, they are among the others.
        if self.holds.is_some()
            && let Some(reentrant_locks) = self.reentrant_locks.get()
        {
            status.contenders.extend(reentrant_locks.contenders());
            let waiters = &mut status.local_waiters;
            waiters.extend(reentrant_locks.local_waiters());
            waiters.sort_by(|one, other| one.mutex.cmp(&other.mutex));
        }
        status
    }

    /// The changes of the [`status`](Self::status) from now on. No I/O, and
    /// nothing is kept while there is no reader.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use tenure::{Coordinator, Standing, StatusChange};
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let mut changes = coordinator.status_changes();
    /// let guard = coordinator.lock("nightly-report")?.acquire().await?;
    /// while let Some(StatusChange::Contender(status)) = changes.next().await {
    ///     println!("{}: {:?}", status.mutex, status.standing);
    ///     if status.standing == Standing::Owning(guard.token()?) {
    ///         break;
    ///     }
    /// }
    /// # drop(guard);
    /// # coordinator.close().await
    /// # }
    /// ```
    #[must_use]
    pub fn status_changes(&self) -> StatusChanges {
        self.engine.feed().read()
    }

    /// Whether the store keeps a ledger: then a schedule's runs are known to
    /// all, and [`schedules`](Self::schedules) tells of them.
    #[must_use]
    pub fn has_ledger(&self) -> bool {
        self.engine.backend().ledger().is_some()
    }

    /// Whether the store can tell its mutexes from other data, so that
    /// [`list`](Self::list) and [`prune`](Self::prune) can find them.
    #[must_use]
    pub fn has_inventory(&self) -> bool {
        self.engine.backend().inventory().is_some()
    }

    /// How the store behaves.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.engine.backend().profile()
    }

    /// The lease terms in force, unless a lock has its own.
    #[must_use]
    pub fn terms(&self) -> LeaseTerms {
        self.engine.terms()
    }

    /// What `call` answers, within so many times the usual time of a call.
    pub(super) async fn ask<T>(
        &self,
        times: u32,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.engine.check_open()?;
        let limit = self.terms().call_timeout() * times;
        self.engine.call_within("inspect", limit, call).await
    }
}
