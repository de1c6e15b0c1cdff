//! [`Looker`]: one task that looks at the store, for however many pages.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tenure::backend::StoreClock;
use tenure::model::{FencingToken, MutexName};
use tenure::{Coordinator, Error, ErrorKind};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::board::Board;
use crate::history::shown;
use crate::kinds::Kinds;
use crate::looks::{FRESH, Looks};

/// How often the store is asked while no page is open: the history goes on.
const SELDOM: Duration = Duration::from_secs(5);
/// A look is followed by a pause of so many times its length, so that a store
/// with many mutexes spends a quarter of one connection's time on it at most.
const REST: u32 = 3;
const LONGEST_REST: Duration = Duration::from_secs(30);
/// For so long after a question a page counts as open.
const ATTENTION: Duration = Duration::from_secs(10);
/// How long a request waits for the first word of the store.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// The name under which the store's time is asked for. Nothing is written.
const NAME: &str = "tenure-dashboard";

/// What is known of the store, and who wants to know.
#[derive(Debug)]
pub(crate) struct Looker {
    coordinator: Coordinator,
    /// Its URL without secrets.
    place: String,
    board: Mutex<Board>,
    health: Mutex<Health>,
    news: watch::Sender<News>,
    /// Pages that follow the changes.
    followers: AtomicUsize,
    asked: Mutex<Option<Instant>>,
    wanted: Notify,
}

/// What is there to be read anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// The board's version.
    pub(crate) version: u64,
    /// Rises when the store's health changes.
    pub(crate) health: u64,
    /// Whether the store was asked at all, with whatever success.
    pub(crate) has_looked: bool,
}

#[derive(Debug, Default)]
struct Health {
    is_well: bool,
    error: Option<String>,
    latency: Option<Duration>,
    /// By how many milliseconds the store's clock is ahead.
    clock_difference: Option<i64>,
    /// What of its kinds could not be learned, and why.
    unknown: Vec<String>,
}

/// The store, as the API tells of it.
#[derive(Debug, Serialize)]
pub(crate) struct StoreView {
    store: String,
    scheme: &'static str,
    reachable: bool,
    latency_ms: Option<f64>,
    clock_difference_ms: Option<i64>,
    last_look: Option<String>,
    age_ms: Option<u64>,
    error: Option<String>,
    /// Why what there is is not all.
    cut: Option<String>,
    unknown: Vec<String>,
    mutexes: usize,
    looking_since: String,
    allow_revoke: bool,
    version: &'static str,
}

impl Looker {
    pub(crate) fn new(coordinator: Coordinator, place: String) -> Arc<Self> {
        let lease = coordinator.terms().lease();
        Arc::new(Self {
            coordinator,
            place,
            board: Mutex::new(Board::new(lease)),
            health: Mutex::default(),
            news: watch::Sender::new(News::default()),
            followers: AtomicUsize::new(0),
            asked: Mutex::default(),
            wanted: Notify::new(),
        })
    }

    pub(crate) fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// What has been seen. Not to be kept over an await.
    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        locked(&self.board)
    }

    pub(crate) fn news(&self) -> watch::Receiver<News> {
        self.news.subscribe()
    }

    /// Whether the last look went well.
    pub(crate) fn is_well(&self) -> bool {
        locked(&self.health).is_well
    }

    /// What went wrong last, if it still does.
    pub(crate) fn error(&self) -> Option<String> {
        locked(&self.health).error.clone()
    }

    /// A page has asked: the store is looked at more often for a while. Returns
    /// when it has told something, or has had its time.
    pub(crate) async fn attend(&self) {
        *locked(&self.asked) = Some(Instant::now());
        self.wanted.notify_one();
        let mut news = self.news();
        let has_looked = news.wait_for(|news| news.has_looked);
        let _ = tokio::time::timeout(FIRST_WORD, has_looked).await;
    }

    /// A page follows the changes until this is dropped.
    pub(crate) fn follow(self: &Arc<Self>) -> Following {
        self.followers.fetch_add(1, Ordering::Relaxed);
        self.wanted.notify_one();
        Following(Arc::clone(self))
    }

    /// Notes that this server has freed a mutex by force.
    pub(crate) fn revoked(&self, name: &str, token: Option<FencingToken>) {
        self.board().revoked(name, token);
        self.wanted.notify_one();
    }

    pub(crate) fn store(&self, allow_revoke: bool) -> StoreView {
        let board = self.board();
        let health = locked(&self.health);
        let latency = health.latency.map(|latency| latency.as_secs_f64() * 1000.0);
        StoreView {
            store: self.place.clone(),
            scheme: self.coordinator.profile().scheme,
            reachable: health.is_well,
            latency_ms: latency.map(|millis| (millis * 1000.0).round() / 1000.0),
            clock_difference_ms: health.clock_difference,
            last_look: board.whole().map(|whole| shown(whole.wall)),
            age_ms: board.age_ms(),
            error: health.error.clone(),
            cut: board.cut().map(str::to_owned),
            unknown: health.unknown.clone(),
            mutexes: board.total(),
            looking_since: board.looking_since(),
            allow_revoke,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Looks for ever.
    pub(crate) async fn look(self: Arc<Self>) {
        let mut looks = Looks::default();
        let mut kinds = KindsSeen::default();
        let mut began = None;
        loop {
            let start = *began.get_or_insert_with(Instant::now);
            let looked = self.look_once(&mut looks, &mut kinds).await;
            self.tell(looked, kinds.unknown());
            if looks.is_under_way() {
                // It goes on by itself, and may have more to tell.
                tokio::time::sleep(FRESH).await;
            } else {
                self.rest(start).await;
                began = None;
            }
        }
    }

    async fn look_once(&self, looks: &mut Looks, kinds: &mut KindsSeen) -> Result<(), Error> {
        kinds.begin(&self.coordinator);
        // While a long look goes on, one small question is enough. One that only
        // this question has to do with, as a damaged row of its name, hides nothing else.
        if let Err(error) = self.greet().await {
            let mut health = locked(&self.health);
            (health.latency, health.clock_difference) = (None, None);
            if is_of_the_store(&error) {
                return Err(error);
            }
        }
        let told = looks.rows(&self.coordinator).await?;
        if told.age.is_some() {
            return Ok(());
        }
        kinds.renew().await;
        let cut = told.cut.as_ref().map(ToString::to_string);
        self.board().take(told.rows.clone(), &kinds.kinds, cut);
        // A part is told, and what kept the rest away.
        match &told.cut {
            Some(error) if !looks.is_under_way() => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Asks for the store's time: how long that takes, and how it differs.
    async fn greet(&self) -> Result<(), Error> {
        let name = MutexName::new(NAME)?;
        let (sent, start) = (SystemTime::now(), Instant::now());
        let there = self.coordinator.store_time(&name).await?;
        let latency = start.elapsed();
        let here = sent + latency / 2;
        let here = here.duration_since(SystemTime::UNIX_EPOCH);
        let is_its_own = self.coordinator.profile().clock == StoreClock::ServerWall;
        let difference = here.ok().filter(|_| is_its_own).and_then(|here| {
            let here = i64::try_from(here.as_millis()).ok()?;
            i64::try_from(there.as_millis()).ok()?.checked_sub(here)
        });
        let mut health = locked(&self.health);
        (health.latency, health.clock_difference) = (Some(latency), difference);
        Ok(())
    }

    fn tell(&self, looked: Result<(), Error>, unknown: Vec<String>) {
        let error = looked.err().map(|error| told(&error));
        let has_changed = {
            let mut health = locked(&self.health);
            let is_well = error.is_none();
            let has_changed =
                health.is_well != is_well || health.error != error || health.unknown != unknown;
            (health.is_well, health.error) = (is_well, error);
            health.unknown = unknown;
            has_changed
        };
        let version = self.board().version();
        self.news.send_if_modified(|news| {
            let before = *news;
            news.version = version;
            news.health += u64::from(has_changed);
            news.has_looked = true;
            *news != before
        });
    }

    /// Waits until the next look is due, which is sooner when a page asks.
    async fn rest(&self, start: Instant) {
        let end = Instant::now();
        let took = end - start;
        loop {
            let every = if self.is_watched() { FRESH } else { SELDOM };
            let least = (took * REST).min(LONGEST_REST);
            let due = end + every.saturating_sub(took).max(least);
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => return,
                () = self.wanted.notified() => {}
            }
        }
    }

    fn is_watched(&self) -> bool {
        let asked = *locked(&self.asked);
        self.followers.load(Ordering::Relaxed) > 0
            || asked.is_some_and(|asked| asked.elapsed() < ATTENTION)
    }
}

/// The kinds as of a while ago: they change seldom, and cost as much as a look.
#[derive(Debug, Default)]
struct KindsSeen {
    kinds: Kinds,
    due: Option<Instant>,
    /// When it began; what comes of it, and when it ended.
    under_way: Option<(Instant, JoinHandle<(Kinds, Instant)>)>,
}

impl KindsSeen {
    /// Asks beside the look, when it is time.
    fn begin(&mut self, coordinator: &Coordinator) {
        let now = Instant::now();
        if self.under_way.is_none() && self.due.is_none_or(|due| now >= due) {
            let coordinator = coordinator.clone();
            let gather = async move { (Kinds::gather(&coordinator, &[]).await, Instant::now()) };
            self.under_way = Some((now, tokio::spawn(gather)));
        }
    }

    /// Takes what the store has told meanwhile. No mutex waits for the rest, except at
    /// the beginning, when nothing is known.
    async fn renew(&mut self) {
        let Some((start, gathering)) = &mut self.under_way else {
            return;
        };
        let is_first = self.due.is_none();
        if !is_first && !gathering.is_finished() {
            return;
        }
        let Ok(gathered) = tokio::time::timeout(FRESH, gathering).await else {
            return;
        };
        let start = *start;
        self.under_way = None;
        let end = match gathered {
            Ok((gathered, end)) => {
                let before = std::mem::take(&mut self.kinds);
                self.kinds = gathered.or_as_before(before);
                end
            }
            Err(_) => Instant::now(),
        };
        let rest = ((end - start) * REST * 2).min(LONGEST_REST);
        self.due = Some(start + FRESH.max(rest));
    }

    /// What could not be learned, and why.
    fn unknown(&self) -> Vec<String> {
        let unknown = self.kinds.unknown().iter();
        let unknown = unknown.map(|(what, error)| format!("{what}: {}", told(error)));
        unknown.collect()
    }
}

impl Drop for KindsSeen {
    fn drop(&mut self) {
        if let Some((_, gathering)) = &self.under_way {
            gathering.abort();
        }
    }
}

/// A page that follows the changes.
#[derive(Debug)]
pub(crate) struct Following(Arc<Looker>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.followers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether another question would fare no better.
fn is_of_the_store(error: &Error) -> bool {
    use ErrorKind::{Closed, Denied, Timeout, Unreachable};
    matches!(error.kind(), Closed | Denied | Timeout | Unreachable)
}

/// The error and what caused it, each once.
fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
