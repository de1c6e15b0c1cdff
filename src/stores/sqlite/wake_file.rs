//! [`WakeFile`]: a file beside the database (`PATH-bell`) that says "look again".
//!
//! The write-ahead log would not do: it changes before a commit can be
//! seen, and at every renewal. A release writes to the wake file after its commit; a
//! grant only touches it, for those who follow every change of owner. So the
//! two are different events to inotify, and who waits for a turn is not woken
//! by grants. Neither is done while no process listens (`audience`).
//!
//! The wake file is opened for each write: what is written is always the file that
//! others watch, also after an operator has deleted it. (Kept open, it would not
//! be known as deleted to those who watch it.) A process watches it only while it
//! has a listener: one that takes its turns alone would wake itself at each of its
//! releases.

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

/// How often the wake file is looked at where the system does not tell us.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// How often we see whether a wake file that was deleted is there again, and whether a stranger
/// has let go of what shows that we listen.
pub(super) const WITHOUT_A_FILE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct WakeFile {
    files: Files,
    watch: WakeFileWatch,
    listening: Listening,
}

/// What is listened to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Listening {
    #[default]
    Not,
    ToWrites,
    /// To these too.
    ToGrants,
}

impl Listening {
    pub(super) fn more(self) -> Self {
        match self {
            Self::Not => Self::ToWrites,
            Self::ToWrites | Self::ToGrants => Self::ToGrants,
        }
    }

    pub(super) fn less(self) -> Self {
        match self {
            Self::Not | Self::ToWrites => Self::Not,
            Self::ToGrants => Self::ToWrites,
        }
    }
}

#[derive(Debug)]
enum WakeFileWatch {
    Told {
        inotify: Arc<OwnedFd>,
        /// `None` while the wake file cannot be watched, or need not be.
        watched: Option<i32>,
    },
    Polled(Option<Contents>),
}

/// What a write or a touch changes: contents, time, file.
type Contents = ([u8; 8], i64, i64, u64);

/// What was heard since the last question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Nothing,
    Written,
    /// The wake file was gone for a while: writes may have been missed.
    Again,
}

impl WakeFile {
    /// Creates the wake file. It will be listened to by looking if nothing else
    /// works.
    pub(super) fn open(files: &Files, poll: bool) -> Result<Self> {
        // Written once: it exists, it can be written, and on an overlay it is
        // from now on the upper file, which is the one that others watch.
        let file = files.open_wake_file()?;
        file.write_all_at(&new_contents(), 0)
            .map_err(|error| io_failed("write", &files.wake_file, error))?;
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let inotify = if poll {
            None
        } else {
            // None: this user has no inotify instance left.
            inotify::init(flags).ok()
        };
        let watch = inotify.map_or(WakeFileWatch::Polled(None), |inotify| WakeFileWatch::Told {
            inotify: Arc::new(inotify),
            watched: None,
        });
        Ok(Self {
            files: files.clone(),
            watch,
            listening: Listening::Not,
        })
    }

    pub(super) fn is_polled(&self) -> bool {
        matches!(self.watch, WakeFileWatch::Polled(_))
    }

    /// A mutex became free. To be called after the commit.
    pub(super) fn write(&self) {
        let written = match self.files.open_wake_file() {
            Ok(file) => file.write_all_at(&new_contents(), 0),
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(error) = written {
            // Waiters find out at the end of the lease.
            tracing::debug!(target: "tenure::store", %error, "the wake file cannot be written");
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
        if let Err(error) = utimensat(
            CWD,
            &self.files.wake_file,
            &times,
            AtFlags::SYMLINK_NOFOLLOW,
        ) {
            tracing::debug!(target: "tenure::store", %error, "the wake file cannot be touched");
        }
    }

    /// What is of interest from now on.
    pub(super) fn listen_to(&mut self, listening: Listening) {
        if self.listening != listening {
            self.listening = listening;
            self.watch_again();
        }
    }

    /// What becomes readable when the wake file is written.
    pub(super) fn fd(&self) -> Option<Arc<OwnedFd>> {
        match &self.watch {
            WakeFileWatch::Told { inotify, .. } => Some(Arc::clone(inotify)),
            WakeFileWatch::Polled(_) => None,
        }
    }

    /// How long to wait at most before asking, if not told.
    pub(super) fn interval(&self) -> Option<Duration> {
        match &self.watch {
            _ if self.listening == Listening::Not => None,
            WakeFileWatch::Told {
                watched: Some(_), ..
            } => None,
            WakeFileWatch::Told { watched: None, .. } => Some(WITHOUT_A_FILE),
            WakeFileWatch::Polled(_) => Some(POLL),
        }
    }

    pub(super) fn heard(&mut self) -> Heard {
        if self.listening == Listening::Not {
            return Heard::Nothing;
        }
        match &mut self.watch {
            WakeFileWatch::Polled(last) => {
                let now = self.files.listen().ok();
                let before = std::mem::replace(last, now);
                match (before, now) {
                    (_, None) => Heard::Nothing,
                    (before, now) if before == now => Heard::Nothing,
                    _ => Heard::Written,
                }
            }
            WakeFileWatch::Told { inotify, watched } => {
                let (heard, gone) = events(inotify, *watched);
                if !gone && watched.is_some() {
                    return heard;
                }
                // While there is no wake file there is nothing to hear.
                if self.watch_again() {
                    Heard::Again
                } else {
                    Heard::Nothing
                }
            }
        }
    }

    /// Watches what is the wake file now; false when there is none to be watched.
    fn watch_again(&mut self) -> bool {
        let WakeFileWatch::Told { inotify, watched } = &mut self.watch else {
            return true;
        };
        if self.listening == Listening::Not {
            if let Some(watched) = watched.take() {
                let _ = inotify::remove_watch(&*inotify, watched);
                // The end of a watch is an event too. Left unread, it would wake the thread
                // again and again.
                while events(inotify, None).0 == Heard::Written {}
            }
            return true;
        }
        let mut flags = WatchFlags::MODIFY | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        flags |= WatchFlags::DONT_FOLLOW;
        if self.listening == Listening::ToGrants {
            flags |= WatchFlags::ATTRIB;
        }
        let before = watched.take();
        // Not created here: an operator may be removing the whole directory. Who
        // writes to it creates it.
        *watched = inotify::add_watch(&*inotify, &self.files.wake_file, flags).ok();
        // A wake file that was moved away is watched until we say no more.
        if let Some(before) = before.filter(|before| Some(*before) != *watched) {
            let _ = inotify::remove_watch(&*inotify, before);
        }
        watched.is_some()
    }
}

/// Reads events, as many as one read gives; what they say, and whether the watch `watched` is gone.
fn events(inotify: &OwnedFd, watched: Option<i32>) -> (Heard, bool) {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut reader = Reader::new(inotify, &mut buffer);
    let (mut heard, mut gone) = (Heard::Nothing, false);
    // Fails with "would block", or with an error that the next wait will show.
    while let Ok(event) = reader.next() {
        heard = Heard::Written;
        let lost = ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF;
        gone |= Some(event.wd()) == watched && event.events().intersects(lost);
        // A second read finds nothing, as a rule. Where it would, the next wait ends at once.
        if reader.is_buffer_empty() {
            break;
        }
    }
    (heard, gone)
}

impl Files {
    fn listen(&self) -> io::Result<Contents> {
        let file: File = open::to_read(&self.wake_file)?;
        let mut contents = [0; 8];
        let _short = file.read_at(&mut contents, 0)?;
        let found = file.metadata()?;
        Ok((contents, found.mtime(), found.mtime_nsec(), found.ino()))
    }
}

/// Never the same twice, so that who only looks now and then sees every write.
fn new_contents() -> [u8; 8] {
    Clock::boot().now().as_nanos().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::stores::sqlite::config::Config;

    #[test]
    fn one_that_listens_no_more_is_left_in_peace() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/locks.db", folder.path().display());
        let config = Config::new(&url.parse().unwrap()).unwrap();
        let files = Files::locate(&config).unwrap();
        let mut wake_file = WakeFile::open(&files, false).unwrap();
        let inotify = wake_file.fd().expect("there is an inotify instance left");
        for listening in [Listening::ToWrites, Listening::ToGrants] {
            wake_file.listen_to(listening);
            wake_file.write();
            assert_eq!(wake_file.heard(), Heard::Written);
            // More than one read gives. Equal ones that follow each other are one.
            for _ in 0..100 {
                wake_file.write();
                wake_file.touch();
            }
            wake_file.listen_to(Listening::Not);
            let mut fds = [PollFd::new(&inotify, PollFlags::IN)];
            let now = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            assert_eq!(poll(&mut fds, Some(&now)).unwrap(), 0, "{listening:?}");
        }
    }
}
