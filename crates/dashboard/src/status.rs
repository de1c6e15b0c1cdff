//! All mutexes of a store, as rows.

use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tenure::Coordinator;
use tenure::backend::{Entry, Page};
use tenure::model::{FencingToken, MutexName, Purpose, StoreTime};

use crate::text::stamp;

const PAGE: usize = 1000;

/// One mutex. Times are lengths, because a store's clock need not be this
/// host's; `since` is a courtesy on the wall clock of this host.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// Who owns it.
    pub owner: Option<String>,
    /// The last grant's, also of a mutex that is free now.
    pub token: Option<FencingToken>,
    /// Since when it has had this owner.
    pub since: Option<String>,
    /// For how long it has had this owner.
    pub held_ms: Option<u64>,
    /// How long it still has it if nothing is renewed.
    pub left_ms: Option<u64>,
    /// The whole length of the lease, where it has been seen for long enough to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Who waits for it, in order, where the store knows them.
    pub waiters: Vec<String>,
    /// What it is wanted for, in the words of [`Purpose`];
    /// unknown of owners of other programs and earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// When a schedule's next run is due, on the store's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_run: Option<String>,
    /// By how much that run is late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<u64>,
    /// A schedule's last runs that were seen, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// How often its holder holds a lock that lies in the layout of reentrant
    /// locks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<u64>,
    /// What is wrong with what the store has of it, and what can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// When the store told of it: lengths of time are of this moment.
    #[serde(skip)]
    pub seen: Instant,
    /// How long its owner can still renew in peace.
    #[serde(skip)]
    pub(crate) undisputed_ms: Option<u64>,
}

/// One run of a schedule. Times are the store's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// When it began; when it was due, where that is not known.
    pub at: String,
    /// Its number.
    pub run: u64,
    /// How it went, in the words of [`RunResult`](tenure::schedule::RunResult); none
    /// where its end was not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// How late it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// With which token it was claimed.
    pub token: FencingToken,
}

impl Row {
    /// A mutex that is free.
    #[must_use]
    pub fn free(name: &MutexName) -> Self {
        Self {
            name: name.to_string(),
            owner: None,
            token: None,
            since: None,
            held_ms: None,
            left_ms: None,
            lease_ms: None,
            waiters: Vec::new(),
            kind: None,
            next_run: None,
            late_ms: None,
            runs: Vec::new(),
            holds: None,
            fault: None,
            seen: Instant::now(),
            undisputed_ms: None,
        }
    }

    fn of(entry: &Entry, now: StoreTime) -> Self {
        let mut row = Self::free(&entry.name);
        row.token = entry.token;
        row.fault = entry.fault.as_deref().map(str::to_owned);
        row.waiters = entry.waiters.iter().map(ToString::to_string).collect();
        row.kind = entry.purpose.map(Purpose::word);
        if entry.owner.has_owner(now) {
            let owner = &entry.owner;
            row.owner = owner.owner_id().map(ToString::to_string);
            let held = owner.acquired_at().map(|at| now.since(at));
            row.held_ms = held.map(millis);
            row.since = held.and_then(|held| stamp(SystemTime::now().checked_sub(held)?));
            row.left_ms = owner.remaining(now).map(millis);
            row.undisputed_ms = owner.ttl_at().map(|at| millis(at.since(now)));
        }
        row
    }

    /// The same with its lengths of time as of `at`, which is later.
    #[must_use]
    pub fn at(&self, at: Instant) -> Self {
        let passed = millis(at.saturating_duration_since(self.seen));
        let mut row = self.clone();
        row.held_ms = self.held_ms.map(|held| held.saturating_add(passed));
        row.left_ms = self.left_ms.map(|left| left.saturating_sub(passed));
        row.late_ms = self.late_ms.map(|late| late.saturating_add(passed));
        row.undisputed_ms = self.undisputed_ms.map(|left| left.saturating_sub(passed));
        row.seen = self.seen.max(at);
        row
    }
}

/// The mutexes of these names, or all that the store knows of.
///
/// # Errors
/// When the store cannot be asked.
///
/// # Cancel safety
/// Dropping it changes nothing.
pub async fn gather(coordinator: &Coordinator, names: &[MutexName]) -> tenure::Result<Vec<Row>> {
    let mut rows = Vec::new();
    gather_each(coordinator, names, |told| rows.extend(told)).await?;
    Ok(rows)
}

/// The same, told a page at a time.
pub(crate) async fn gather_each(
    coordinator: &Coordinator,
    names: &[MutexName],
    mut tell: impl FnMut(Vec<Row>),
) -> tenure::Result<()> {
    let mut page = match names {
        [] => Page::first(PAGE),
        names => Page::of(names.to_vec()),
    };
    // One that was never owned is free, and was asked for.
    let mut free: Vec<&MutexName> = Vec::new();
    for name in names {
        if !free.contains(&name) {
            free.push(name);
        }
    }
    loop {
        let listing = coordinator.list(&page).await?;
        let told: Vec<Row> = listing
            .entries
            .iter()
            .map(|entry| Row::of(entry, listing.now))
            .collect();
        free.retain(|name| !told.iter().any(|row| row.name == name.as_str()));
        tell(told);
        let Some(next) = listing.next_page(&page) else {
            break;
        };
        page = next;
    }
    tell(free.into_iter().map(Row::free).collect());
    Ok(())
}

/// What the store has under a name as a row shows it, and the store's time.
///
/// # Errors
/// When the store cannot be asked.
///
/// # Cancel safety
/// Dropping it changes nothing.
pub async fn found(
    coordinator: &Coordinator,
    text: &str,
) -> tenure::Result<Option<(Entry, StoreTime)>> {
    let listing = coordinator
        .list(&Page::of([MutexName::found(text)]))
        .await?;
    if let Some(entry) = listing.entries.into_iter().next() {
        return Ok(Some((entry, listing.now)));
    }
    // What is no text is known by how it is shown, and by no name.
    if !text.contains(['\\', '%']) {
        return Ok(None);
    }
    let mut page = Page::first(PAGE);
    loop {
        let listing = coordinator.list(&page).await?;
        let next = listing.next_page(&page);
        let mut entries = listing.entries.into_iter();
        let shown = entries.find(|entry| entry.name.as_str() == text && entry.fault.is_some());
        match (shown, next) {
            (Some(entry), _) => return Ok(Some((entry, listing.now))),
            (None, Some(next)) => page = next,
            (None, None) => return Ok(None),
        }
    }
}

pub(crate) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
