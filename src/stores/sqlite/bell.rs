//! The bell: a file beside the database that says "look again".
//!
//! The write-ahead log would be no bell: it changes before a commit can be
//! seen, and at every renewal. A release writes to the bell after its commit; a
//! grant only touches it, for those who follow every change of owner. So the
//! two are different events to inotify, and who waits for a turn is not woken
//! by grants.
//!
//! The bell is opened for each ring: what is rung is always the file that
//! others watch, also after somebody has deleted it. (Kept open, it would not
//! be known as deleted to those who watch it.) Nobody watches it while nobody
//! here listens, or a process that takes its turns alone would wake itself at
//! each of its releases.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use super::error::io_failed;
use super::file::Files;
use super::open;
use crate::clock::Clock;
use crate::error::Result;

/// How often the bell is looked at where nobody tells us.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// How often we see whether a bell that was deleted is there again.
const WITHOUT_A_BELL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Bell {
    files: Files,
    watch: BellWatch,
    listening: Listening,
}

/// What is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Listening {
    Not,
    ToRings,
    /// To these too.
    ToGrants,
}

#[derive(Debug)]
enum BellWatch {
    Told {
        inotify: Arc<OwnedFd>,
        /// `None` while the bell cannot be watched.
        bell: Option<i32>,
    },
    Polled(Option<Sound>),
}

/// What a ring or a touch changes: contents, time, file.
type Sound = ([u8; 8], i64, i64, u64);

/// What was heard since the last question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Nothing,
    Rung,
    /// The bell was gone for a while: rings may have been missed.
    Again,
}

impl Bell {
    /// Hangs up the bell. It will be listened to by looking if nothing else
    /// works.
    pub(super) fn hang(files: &Files, poll: bool) -> Result<Self> {
        // Written once: it exists, it can be written, and on an overlay it is
        // from now on the upper file, which is the one that others watch.
        let file = files.open_bell()?;
        file.write_all_at(&sound(), 0)
            .map_err(|error| io_failed("write", &files.bell, error))?;
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let inotify = if poll {
            None
        } else {
            // None: this user has no inotify instance left.
            inotify::init(flags).ok()
        };
        let watch = inotify.map_or(BellWatch::Polled(None), |inotify| BellWatch::Told {
            inotify: Arc::new(inotify),
            bell: None,
        });
        Ok(Self {
            files: files.clone(),
            watch,
            listening: Listening::Not,
        })
    }

    pub(super) fn is_polled(&self) -> bool {
        matches!(self.watch, BellWatch::Polled(_))
    }

    /// A mutex became free. To be called after the commit.
    pub(super) fn ring(&self) {
        let rung = match self.files.open_bell() {
            Ok(bell) => bell.write_all_at(&sound(), 0),
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(error) = rung {
            // Waiters find out at the end of the lease.
            tracing::debug!(target: "tenure::store", %error, "the bell cannot be rung");
        }
    }

    /// A mutex was granted. To be called after the commit.
    pub(super) fn touch(&self) {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        if let Err(error) = utimensat(CWD, &self.files.bell, &times, AtFlags::SYMLINK_NOFOLLOW) {
            tracing::debug!(target: "tenure::store", %error, "the bell cannot be touched");
        }
    }

    /// What is of interest from now on.
    pub(super) fn listen_to(&mut self, listening: Listening) {
        if self.listening != listening {
            self.listening = listening;
            self.watch_again();
        }
    }

    /// What becomes readable when the bell is rung.
    pub(super) fn fd(&self) -> Option<Arc<OwnedFd>> {
        match &self.watch {
            BellWatch::Told { inotify, .. } => Some(Arc::clone(inotify)),
            BellWatch::Polled(_) => None,
        }
    }

    /// How long to wait at most before asking, if not told.
    pub(super) fn interval(&self) -> Option<Duration> {
        match &self.watch {
            _ if self.listening == Listening::Not => None,
            BellWatch::Told { bell: Some(_), .. } => None,
            BellWatch::Told { bell: None, .. } => Some(WITHOUT_A_BELL),
            BellWatch::Polled(_) => Some(POLL),
        }
    }

    pub(super) fn heard(&mut self) -> Heard {
        if self.listening == Listening::Not {
            return Heard::Nothing;
        }
        match &mut self.watch {
            BellWatch::Polled(last) => {
                let now = self.files.listen().ok();
                let before = std::mem::replace(last, now);
                match (before, now) {
                    (_, None) => Heard::Nothing,
                    (before, now) if before == now => Heard::Nothing,
                    _ => Heard::Rung,
                }
            }
            BellWatch::Told { inotify, bell } => {
                let (heard, gone) = events(inotify, *bell);
                if !gone && bell.is_some() {
                    return heard;
                }
                // While there is no bell there is nothing to hear.
                if self.watch_again() {
                    Heard::Again
                } else {
                    Heard::Nothing
                }
            }
        }
    }

    /// Watches what is the bell now; false when there is none to be watched.
    fn watch_again(&mut self) -> bool {
        let BellWatch::Told { inotify, bell } = &mut self.watch else {
            return true;
        };
        if self.listening == Listening::Not {
            if let Some(bell) = bell.take() {
                let _ = inotify::remove_watch(&*inotify, bell);
            }
            return true;
        }
        let mut flags = WatchFlags::MODIFY | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        flags |= WatchFlags::DONT_FOLLOW;
        if self.listening == Listening::ToGrants {
            flags |= WatchFlags::ATTRIB;
        }
        let before = bell.take();
        // Not created here: somebody may be removing the whole directory. Who
        // rings it creates it.
        *bell = inotify::add_watch(&*inotify, &self.files.bell, flags).ok();
        // A bell that was moved away is watched until we say no more.
        if let Some(before) = before.filter(|before| Some(*before) != *bell) {
            let _ = inotify::remove_watch(&*inotify, before);
        }
        bell.is_some()
    }
}

/// Reads all events; what they say, and whether the watch `bell` is gone.
fn events(inotify: &OwnedFd, bell: Option<i32>) -> (Heard, bool) {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut reader = Reader::new(inotify, &mut buffer);
    let (mut heard, mut gone) = (Heard::Nothing, false);
    // Ends with "would block", or with an error that the next wait will show.
    while let Ok(event) = reader.next() {
        heard = Heard::Rung;
        let lost = ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF;
        gone |= Some(event.wd()) == bell && event.events().intersects(lost);
    }
    (heard, gone)
}

impl Files {
    fn listen(&self) -> io::Result<Sound> {
        let bell: File = open::to_read(&self.bell)?;
        let mut contents = [0; 8];
        let _short = bell.read_at(&mut contents, 0)?;
        let found = bell.metadata()?;
        Ok((contents, found.mtime(), found.mtime_nsec(), found.ino()))
    }
}

/// Never the same twice, so that who only looks now and then sees every ring.
fn sound() -> [u8; 8] {
    Clock::boot().now().as_nanos().to_le_bytes()
}
