//! Where the store's clock stands, and for which boot.
//!
//! The file calls the present boot by the id that its first user saw. An id
//! alone proves nothing: a container may see another than its host, or the
//! same one after every boot. What proves it is a living user: a process that has the
//! file in use holds a lock of this kernel, and so shares its clock. So a new
//! boot begins only when no other process is there; all others go on with the clock
//! that the file has.

use rusqlite::{Connection, OptionalExtension, params};

use super::clock::{BootClock, HostBoot};
use super::database::in_transaction;
use super::error::{conflict, failed};
use super::list::LONGEST;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::stores::kit::wall;

/// Grants further than this in the future were not made by this clock.
const SLACK_MILLIS: i64 = 1000;

/// A clock that began later, in milliseconds since 1970, would soon count no
/// further.
const LATEST_EPOCH: u64 = 1 << 60;

#[derive(Debug)]
struct Row {
    name: String,
    epoch: i64,
    /// The latest grant of that boot.
    latest: i64,
}

impl Row {
    fn read(connection: &Connection, boot: &HostBoot) -> rusqlite::Result<Option<Self>> {
        let query = "
            SELECT boot_id, epoch, (SELECT coalesce(max(acquired_at), 0) FROM simba_mutex AS mutex
                WHERE mutex.boot_id = clock.boot_id AND owner_id <> ''
                AND acquired_at <= transition_at AND acquired_at <= clock.epoch + ?1)
            FROM tenure_clock AS clock";
        // What lies further ahead than any clock of this file can have been was
        // written by hand: a listing tells of it, and it proves nothing here.
        let longest = i64::try_from(LONGEST.as_millis()).unwrap_or(i64::MAX);
        let latest = uptime(boot).saturating_add(longest);
        let row = connection.query_row(query, [latest], |row| {
            Ok(Self {
                name: row.get(0)?,
                epoch: row.get(1)?,
                latest: row.get(2)?,
            })
        });
        row.optional()
    }

    /// Whether something was granted at a time that the clock has yet to reach.
    fn is_ahead_of(&self, boot: &HostBoot) -> bool {
        let now = self.epoch.saturating_add(uptime(boot));
        self.latest > now.saturating_add(SLACK_MILLIS)
    }
}

fn uptime(boot: &HostBoot) -> i64 {
    i64::try_from(boot.uptime().as_millis()).unwrap_or(i64::MAX)
}

/// Sets the clock, unless it is that of `boot` already. Only for who has the
/// file alone.
pub(super) fn begin(connection: &Connection, boot: &HostBoot) -> Result<()> {
    in_transaction(connection, |connection| {
        match Row::read(connection, boot)? {
            Some(row) if !boot.is_called(&row.name) => set(connection, &boot.id, boot),
            // The same id, but the clock began again.
            Some(row) if row.is_ahead_of(boot) => set(connection, &boot.another_name(), boot),
            Some(_) => Ok(()),
            None => set(connection, &boot.id, boot),
        }
    })
}

fn set(connection: &Connection, name: &str, boot: &HostBoot) -> rusqlite::Result<()> {
    let since_1970 = wall().saturating_sub(boot.uptime()).as_millis();
    let epoch = i64::try_from(since_1970).unwrap_or(0);
    let write = "INSERT OR REPLACE INTO tenure_clock (one, boot_id, epoch) VALUES (1, ?1, ?2)";
    connection.execute(write, params![name, epoch]).map(drop)
}

/// The clock that all users of the file have. To be asked once the file is
/// known to be in use by us.
pub(super) fn read(connection: &Connection, boot: HostBoot) -> Result<BootClock> {
    let row = match Row::read(connection, &boot).map_err(failed)? {
        Some(row) => row,
        // No process has ever been alone with it.
        None => in_transaction(connection, |connection| {
            if Row::read(connection, &boot)?.is_none() {
                set(connection, &boot.id, &boot)?;
            }
            Row::read(connection, &boot)
        })?
        .ok_or_else(nonsense)?,
    };
    if row.is_ahead_of(&boot) {
        return Err(conflict(
            "the SQLite file is in use by a process that has another clock than this one: its \
             grants are in the future here. All users must share one kernel; if they do, close \
             what else holds a lock on the file (see lslocks), then open it again",
        ));
    }
    if !boot.is_called(&row.name) {
        tracing::info!(
            target: "tenure::store",
            file = row.name, here = boot.id,
            "the boot id differs from that of the file's living users: going on with their clock"
        );
    }
    let epoch = u64::try_from(row.epoch).ok();
    let epoch = epoch.filter(|epoch| *epoch <= LATEST_EPOCH);
    let epoch = epoch.ok_or_else(nonsense)?;
    Ok(BootClock {
        boot,
        name: row.name,
        epoch,
    })
}

fn nonsense() -> Error {
    Error::new(ErrorKind::Store, Outcome::DidNot)
        .with_message("the table tenure_clock of the SQLite file holds nonsense")
}
