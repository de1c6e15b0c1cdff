//! What a person should know about the file.

use std::os::unix::fs::MetadataExt;

use super::error::failed;
use super::worker::Worker;
use crate::backend::Finding;
use crate::stores::kit::wall;

/// Less free space than this is worth a word: a write-ahead log has 4 MB.
const LITTLE_SPACE: u64 = 16 << 20;

/// A store clock further from the wall clock than this shifts schedules.
const FAR_FROM_WALL_MILLIS: u128 = 2_000;

impl Worker {
    pub(super) fn check(&mut self) -> Vec<Finding> {
        let mut findings = vec![self.integrity()];
        findings.extend(self.permissions());
        findings.extend(self.space());
        findings.push(self.wake_up());
        findings.push(self.durability());
        findings.extend(self.wall_clock());
        findings
    }

    fn integrity(&mut self) -> Finding {
        let checked = self.database.read(|table| {
            let query = table
                .connection
                .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
            query.map_err(failed)
        });
        let path = self.database.files.database.display();
        match checked {
            Ok(word) if word == "ok" => {
                Finding::good("file", format!("{path}, SQLite {}", rusqlite::version()))
            }
            Ok(word) => Finding::bad(
                "file",
                format!("{path} is damaged: {word}"),
                "stop all its users and move it away; it is created anew",
            ),
            Err(error) => Finding::bad(
                "file",
                format!("{path}: {error}"),
                "see whether it is there and can be read and written",
            ),
        }
    }

    fn permissions(&self) -> Option<Finding> {
        let mode = self.database.files.database.metadata().ok()?.mode() & 0o777;
        let readers = (mode & 0o044) & !((mode & 0o022) << 1);
        Some(if mode & 0o002 != 0 {
            Finding::warning(
                "permissions",
                format!("every user of this host may write the file ({mode:04o})"),
                "chmod o-w the file and those beside it",
            )
        } else if readers != 0 {
            Finding::warning(
                "permissions",
                format!(
                    "who may read a file may lock it, and keep others from writing ({mode:04o})"
                ),
                "let only those read the file, and those beside it, who may write it",
            )
        } else {
            Finding::good("permissions", format!("{mode:04o}"))
        })
    }

    fn space(&self) -> Option<Finding> {
        let folder = self.database.files.database.parent()?;
        let disk = rustix::fs::statvfs(folder).ok()?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        Some(if free >= LITTLE_SPACE {
            Finding::good("space", format!("{} MB are free", free >> 20))
        } else {
            Finding::warning(
                "space",
                format!("only {} kB are free", free >> 10),
                "free some: on a full disk no new name can be taken",
            )
        })
    }

    fn wake_up(&self) -> Finding {
        if self.wake_file.is_polled() && !self.database.config().poll {
            return Finding::warning(
                "wake-up",
                "no inotify instance is left, so a release is seen up to 50 ms late",
                "raise fs.inotify.max_user_instances",
            );
        }
        let how = if self.wake_file.is_polled() {
            "looks every 50 ms, as the URL says"
        } else {
            "told by inotify"
        };
        Finding::good("wake-up", how)
    }

    fn durability(&self) -> Finding {
        Finding::good(
            "durability",
            if self.database.config().full {
                "every commit reaches the disk"
            } else {
                "a power loss may undo the last moments of schedules; leases do not outlive it \
                 in any case"
            },
        )
    }

    fn wall_clock(&mut self) -> Option<Finding> {
        let now = u128::from(self.database.now()?.as_millis());
        let apart = now.abs_diff(wall().as_millis());
        Some(if apart <= FAR_FROM_WALL_MILLIS {
            Finding::good("clock", "the store's clock agrees with the wall clock")
        } else {
            Finding::warning(
                "clock",
                format!("the wall clock was set since boot: it is {apart} ms from the store's"),
                "leases are not touched by it; cron schedules follow the store's clock until the \
                 next boot",
            )
        })
    }
}
