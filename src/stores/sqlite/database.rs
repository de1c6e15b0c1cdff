//! The connection: opened, used, and opened again when the file was replaced.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::clock::{BootClock, HostBoot};
use super::config::Config;
use super::epoch;
use super::error::{commit_failed, failed, is_busy, is_full, wants_reopening};
use super::file::{Files, Identity, identity_of};
use super::inode::InUse;
use super::pragmas;
use super::schema::{self, Whose};
use super::table::{Look, Table};
use super::wake_file::Listening;
use crate::backend::{Answer, Bid, Held};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::StoreTime;

/// More than there are statements: each is prepared once.
const STATEMENTS: usize = 32;

/// Of so many writes two are the thread's, also when a caller wants them. It lets SQLite
/// put the log back into the file when that has become long; the write after
/// that begins the log anew. Both wait for the disk.
const WRITES: u32 = 256;

/// When the thread has SQLite put the log back, in pages of it.
const LOG_PAGES: u32 = 1000;

/// How often a call begins again because the file was replaced meanwhile.
const REOPENINGS: usize = 3;

/// How often a caller tries to write while another process does, before it gives that to the
/// thread. Not a time: it takes some microseconds, or a turn of those that run here.
const TRIES_AT_ONCE: i32 = 3;

/// How often the thread tries without sleeping in between.
const TRIES_AWAKE: i32 = 3;

/// How long to wait at least while others open the file: a fleet that starts
/// at once waits its turn here.
const OPENING: Duration = Duration::from_secs(10);

/// What one who wants to take can know before it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    /// It is free as a rule: taken by one statement, which has the right to write from
    /// its beginning.
    Good,
    /// It was owned when last seen: looked at first, which keeps no other from writing.
    Slight,
}

/// For how long a look at the path counts as a look before the next statement: no
/// longer than a statement takes, in which the file may be moved away just as well. What
/// counts is the look after it.
const JUST_NOW: Duration = Duration::from_micros(10);

/// The file and the one connection to it.
#[derive(Debug)]
pub(super) struct Database {
    config: Config,
    pub(super) files: Files,
    open: Option<Open>,
    /// Kept while the connection is opened anew.
    used: InUse,
    reopened: bool,
    /// When a caller last saw that the path leads to the file in use.
    seen_there: Option<Instant>,
    /// How many writes there were.
    writes: u32,
}

#[derive(Debug)]
struct Open {
    connection: Connection,
    clock: BootClock,
    /// Whether a commit may put the log back into the file.
    checkpoints: Cell<bool>,
}

impl Database {
    pub(super) fn open(config: Config) -> Result<Self> {
        let files = Files::locate(&config)?;
        let (open, used) = Open::new(&config, &files, None)?;
        Ok(Self {
            config,
            files,
            open: Some(open),
            used,
            reopened: false,
            seen_there: None,
            writes: 0,
        })
    }

    /// Only looks: takes no lock that others would wait for, writes nothing.
    pub(super) fn read<T>(&mut self, work: impl Fn(&Table<'_>) -> Result<T>) -> Result<T> {
        self.attempt(|open| work(&open.table()))
    }

    /// Changes rows, all or none.
    pub(super) fn write<T>(&mut self, work: impl Fn(&Table<'_>) -> Result<T>) -> Result<T> {
        match self.try_to_write(&work) {
            // Nothing was written. SQLite puts the log back into the file after a commit only,
            // and there can be none: so it is asked to, and what the log has of the disk
            // can be used again.
            Err(error) if is_full(&error) => match self.attempt(Open::begin_log_anew) {
                Ok(()) => self.try_to_write(&work),
                Err(_) => Err(error),
            },
            done => done,
        }
    }

    fn try_to_write<T>(&mut self, work: impl Fn(&Table<'_>) -> Result<T>) -> Result<T> {
        self.writes = self.writes.wrapping_add(1);
        self.attempt(|open| {
            open.let_checkpoint(true)?;
            open.execute("BEGIN IMMEDIATE").map_err(failed)?;
            // The time is read here, when no other can write any more: the
            // wait for that may have been long.
            open.end(work(&open.table()))
        })
    }

    /// Whether another file was opened since [`take_reopened`](Self::take_reopened).
    pub(super) fn is_reopened(&self) -> bool {
        self.reopened
    }

    /// Whether another file was opened since this was asked last: wake-ups may
    /// have been lost.
    pub(super) fn take_reopened(&mut self) -> bool {
        std::mem::take(&mut self.reopened)
    }

    /// The store's time, while the file is open.
    pub(super) fn now(&self) -> Option<StoreTime> {
        self.open.as_ref().map(|open| open.clock.now())
    }

    /// Whether a client, of this process or another, listens to `what`. To be asked after the
    /// commit that it should hear of.
    pub(super) fn is_heard(&self, what: Listening) -> bool {
        self.used.is_heard(what)
    }

    /// Shows to all who use the file what this client listens to.
    pub(super) fn listen_to(&mut self, what: Listening) {
        self.used.listen_to(what);
    }

    /// Whether others see that this client listens.
    pub(super) fn is_shown(&self) -> bool {
        self.used.attention().is_shown()
    }

    /// Tries again to show it; whether it is seen now and was not before.
    pub(super) fn show_again(&mut self) -> bool {
        if self.is_shown() {
            return false;
        }
        self.used.listen_to(self.used.attention().wanted());
        self.is_shown()
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    fn attempt<T>(&mut self, work: impl Fn(&Open) -> Result<T>) -> Result<T> {
        for _ in 0..REOPENINGS {
            // Looked at before: what belongs to a file that was moved over ours
            // is not to be written to any more.
            let open = match self.open.take().filter(|_| !self.is_replaced()) {
                Some(open) => open,
                None => self.open_anew()?,
            };
            self.used.show();
            let done = work(&open);
            // And afterwards: only what is in the file that all others find
            // has happened.
            if self.is_replaced() {
                continue;
            }
            if !done.as_ref().is_err_and(wants_reopening) {
                self.open = Some(open);
            }
            return done;
        }
        Err(
            Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(format!(
                "{:?} is removed or replaced again and again",
                self.files.database
            )),
        )
    }

    /// As [`read`](Self::read), on the thread of a caller. `None`: it would
    /// have to wait, or the file must be opened anew.
    pub(super) fn read_at_once<T>(
        &mut self,
        work: impl FnOnce(&Table<'_>) -> Result<T>,
    ) -> Option<Result<T>> {
        self.attempt_at_once(|open| work(&open.table()).map(Some))
    }

    /// Takes what is free, on the thread of a caller. `None`: it would have to
    /// wait.
    pub(super) fn take_at_once(&mut self, bid: &Bid, chance: Chance) -> Option<Result<Answer>> {
        let mut may_write = self.may_write_at_once();
        let taken = self.attempt_at_once(|open| {
            if may_write && chance == Chance::Good {
                open.let_checkpoint(false)?;
                match open.table().take(bid) {
                    Ok(Some(answer)) => return Ok(Some(answer)),
                    Ok(None) => {}
                    // A look tells whether there is anything to wait for.
                    Err(error) if is_busy(&error) => may_write = false,
                    Err(error) => return Err(error),
                }
            }
            // One transaction that begins as a look: who is refused takes no
            // lock. It becomes a write only if no other has written since it
            // began; what it read is true then.
            open.execute("BEGIN").map_err(failed)?;
            let table = open.table();
            let taken = match table.look(bid) {
                Ok(Look::Owned(answer)) => Ok(Some(answer)),
                Ok(Look::Free { .. }) if !may_write => Ok(None),
                Ok(Look::Free { version }) => open
                    .let_checkpoint(false)
                    .and_then(|()| table.grant(bid, version).map(Some)),
                Err(error) => Err(error),
            };
            open.end(taken)
        })?;
        self.count(&taken);
        Some(taken)
    }

    /// Frees a grant, on the thread of a caller. `None`: it would have to wait,
    /// or it is not there to be freed, and the thread finds out why.
    pub(super) fn release_at_once(&mut self, held: &Held) -> Option<Result<Answer>> {
        if !self.may_write_at_once() {
            return None;
        }
        let freed = self.attempt_at_once(|open| {
            open.let_checkpoint(false)?;
            open.table().release_at_once(held)
        })?;
        self.count(&freed);
        Some(freed)
    }

    /// Whether a caller may write: not when every commit waits for the disk,
    /// and not when it is the thread's turn.
    fn may_write_at_once(&self) -> bool {
        !self.config.full && self.writes % WRITES >= 2
    }

    fn count(&mut self, done: &Result<Answer>) {
        if done.as_ref().is_ok_and(Answer::is_won) {
            self.writes = self.writes.wrapping_add(1);
        }
    }

    fn attempt_at_once<T>(
        &mut self,
        work: impl FnOnce(&Open) -> Result<Option<T>>,
    ) -> Option<Result<T>> {
        let is_seen = |at: &Instant| at.elapsed() < JUST_NOW;
        if !self.seen_there.as_ref().is_some_and(is_seen) && self.is_replaced() {
            return None;
        }
        let open = self.open.as_ref()?;
        self.used.show();
        let done = work(open);
        // What was done in a file that has gone is done again in the new one.
        let at = Instant::now();
        self.seen_there = (!self.is_replaced()).then_some(at);
        self.seen_there?;
        match done {
            Ok(done) => done.map(Ok),
            // Another process writes, or there is no room: nothing was done. On this thread
            // nothing waits for either.
            Err(error) if is_busy(&error) || is_full(&error) => None,
            Err(error) => {
                if wants_reopening(&error) {
                    self.open = None;
                }
                Some(Err(error))
            }
        }
    }

    fn is_replaced(&self) -> bool {
        identity_of(&self.files.database).ok() != Some(self.used.identity())
    }

    fn open_anew(&mut self) -> Result<Open> {
        if self.is_replaced() {
            let file = self.files.database.display();
            tracing::warn!(target: "tenure::store", %file, "the SQLite file was removed or replaced: opening it anew");
        }
        let before = Some(self.used.identity());
        let (open, mut used) = Open::new(&self.config, &self.files, before)?;
        // Before anything is read in the new file.
        used.listen_to(self.used.attention().wanted());
        self.used = used;
        self.reopened = true;
        Ok(open)
    }
}

impl Open {
    /// `before` is the file that this client has used under this name.
    fn new(config: &Config, files: &Files, before: Option<Identity>) -> Result<(Self, InUse)> {
        // Before anything is made beside a database that is not ours.
        files.survey(before)?;
        let limit = config.busy_timeout.max(OPENING);
        let _opening = files.lock_for_opening(limit)?;
        let inode = files.take(before)?;
        let path = &files.database;
        let is_there = || identity_of(path).ok() == Some(inode.identity);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        #[allow(unused_mut, reason = "the newer drivers want it for the busy handler")]
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        // Until its first statement SQLite looks at nothing beside the file.
        if !is_there() {
            return Err(replaced_while_opened(path));
        }
        BUSY_LIMIT.set(config.busy_timeout);
        connection
            .busy_handler(Some(wait_while_busy))
            .map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        pragmas::set(&connection, config)?;
        let whose = schema::whose(&connection)?;
        if whose == Whose::Nobodys {
            schema::claim(&connection)?;
        }
        set_up(&connection, config)?;
        if whose == Whose::Nobodys {
            in_transaction(&connection, schema::create)?;
        }
        schema::extend(&connection).map_err(failed)?;
        let boot = HostBoot::present()?;
        let used = inode.enter(path, limit, || epoch::begin(&connection, &boot))?;
        let clock = epoch::read(&connection, boot)?;
        if !is_there() {
            return Err(replaced_while_opened(path));
        }
        used.settle();
        let checkpoints = Cell::new(true);
        let open = Self {
            connection,
            clock,
            checkpoints,
        };
        if whose == Whose::Nobodys {
            // The file has its pages from now on: a log that fills the disk can be put back
            // into it. If this fails it is done later.
            let _ = open.begin_log_anew();
        }
        Ok((open, used))
    }

    fn table(&self) -> Table<'_> {
        Table::new(&self.connection, &self.clock)
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(statement)?;
        statement.execute([]).map(drop)
    }

    /// Ends the transaction in which `done` was done.
    fn end<T>(&self, done: Result<T>) -> Result<T> {
        let ended = match done {
            Ok(value) => match self.execute("COMMIT") {
                Ok(()) => return Ok(value),
                Err(error) => Err(commit_failed(error)),
            },
            Err(error) => Err(error),
        };
        if !self.connection.is_autocommit() {
            let _ = self.execute("ROLLBACK");
        }
        ended
    }

    /// Puts the log back into the file, so that the next write can begin it anew. Waits for
    /// those who write and for the disk.
    fn begin_log_anew(&self) -> Result<()> {
        let restart = "PRAGMA wal_checkpoint(RESTART)";
        let restarted = self.connection.query_row(restart, [], |_| Ok(()));
        restarted.map_err(failed)
    }

    /// Whether a commit may put the log back into the file, which waits for the
    /// disk.
    fn let_checkpoint(&self, may: bool) -> Result<()> {
        if self.checkpoints.get() != may {
            let pages = if may { LOG_PAGES } else { 0 };
            self.connection
                .pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()))
                .map_err(failed)?;
            self.checkpoints.set(may);
        }
        Ok(())
    }
}

fn replaced_while_opened(path: &Path) -> Error {
    Error::new(ErrorKind::Unreachable, Outcome::DidNot)
        .with_message(format!("{path:?} was replaced while it was opened"))
}

fn set_up(connection: &Connection, config: &Config) -> Result<()> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        return Err(
            Error::new(ErrorKind::Store, Outcome::DidNot).with_message(format!(
                "SQLite cannot keep a write-ahead log here (its journal mode is {mode:?}): choose a \
                 path on a local disk"
            )),
        );
    }
    let synchronous = if config.full { "full" } else { "normal" };
    let set = connection.pragma_update(None, "synchronous", synchronous);
    set.map_err(failed)
}

pub(super) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T> {
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .and_then(|()| work(connection))
        .and_then(|value| connection.execute_batch("COMMIT").map(|()| value))
        // The connection is given up, and with it the transaction.
        .map_err(failed)
}

thread_local! {
    /// Zero on every thread but that of the store: no caller waits.
    static BUSY_LIMIT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static BUSY_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Called while another process writes. Writes take tens of microseconds, so
/// the pauses are short, and they differ: of many who wait each gets its turn.
fn wait_while_busy(tries: i32) -> bool {
    if BUSY_LIMIT.get().is_zero() {
        std::thread::yield_now();
        return tries < TRIES_AT_ONCE;
    }
    if tries == 0 {
        BUSY_SINCE.set(Some(Instant::now()));
    }
    if tries < TRIES_AWAKE {
        std::thread::yield_now();
        return true;
    }
    let since = BUSY_SINCE.get().unwrap_or_else(Instant::now);
    if since.elapsed() >= BUSY_LIMIT.get() {
        return false;
    }
    let longest = 200 * (u64::try_from(tries).unwrap_or(0) + 1).min(20);
    std::thread::sleep(Duration::from_micros(fastrand::u64(50..=longest)));
    true
}
