//! What a fleet of peers saw, as a history to be judged.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use tenure::Tenure;
use tenure::clock::Clock;

use crate::history::{Event, History, What};

/// A file that a whole fleet appends to, a line for every time that an owner
/// found its own tenure valid. It is written as an accepted
/// [write](What::Written): once a later grant was found valid, an earlier one
/// must not be.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    times: History,
}

impl Journal {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let times = History::new("journal", Clock::boot());
        Ok(Self { file, times })
    }

    /// Notes that `tenure` is valid, if it is; false when it is over.
    pub(super) fn observe(&mut self, tenure: &Tenure) -> io::Result<bool> {
        // Read before the tenure is asked: it was valid then if it is now.
        let at = self.times.time(Clock::boot().now());
        let Ok(token) = tenure.token() else {
            return Ok(false);
        };
        let event = Event {
            at,
            process: tenure.contender().as_str().into(),
            what: What::Written {
                resource: tenure.mutex().as_str().into(),
                token,
                accepted: true,
            },
        };
        // One write: lines of several processes do not mix.
        self.file.write_all(format!("{event}\n").as_bytes())?;
        Ok(true)
    }
}

/// Reads the journal of a fleet.
///
/// # Panics
/// When it cannot be read, or a line is no event.
#[must_use]
pub fn read_journal(path: &Path) -> History {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    History::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
