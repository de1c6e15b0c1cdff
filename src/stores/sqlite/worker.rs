//! The thread that owns the connection.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::config::Config;
use super::database::Database;
use super::wake_file::{Heard, WakeFile};
use super::watch::Registry;
use crate::backend::Hint;
use crate::error::Result;

/// Something to do on the thread.
pub(super) type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// So many jobs in a row at most, before the wake file is listened to.
const JOBS: usize = 64;

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) database: Database,
    pub(super) wake_file: WakeFile,
    pub(super) registry: Registry,
    pub(super) closing: bool,
}

impl Worker {
    pub(super) fn open(config: Config) -> Result<Self> {
        let poll = config.poll;
        let database = Database::open(config)?;
        let wake_file = WakeFile::open(&database.files, poll)?;
        Ok(Self {
            database,
            wake_file,
            registry: Registry::default(),
            closing: false,
        })
    }

    /// Does jobs and listens to the wake file, until it is told to close or nobody
    /// can give it jobs any more.
    pub(super) fn work(mut self, jobs: &Receiver<Job>, wake: &OwnedFd) {
        loop {
            let mut more = true;
            for _ in 0..JOBS {
                match jobs.try_recv() {
                    Ok(job) => job(&mut self),
                    Err(TryRecvError::Empty) => {
                        more = false;
                        break;
                    }
                    Err(TryRecvError::Disconnected) => return,
                }
                if self.closing {
                    return;
                }
            }
            self.wake_file
                .listen_to_grants(self.registry.follows_owners());
            let due = self.wait(wake, if more { Some(Duration::ZERO) } else { None });
            self.listen(due);
        }
    }

    /// Tells the listeners what the wake file, or the end of a lease, has to say.
    fn listen(&mut self, due: bool) {
        let mut heard = self.wake_file.heard();
        if self.database.take_reopened() {
            heard = Heard::Again;
        }
        if self.registry.is_empty() {
            return;
        }
        if heard != Heard::Nothing || due {
            self.registry.look(&mut self.database);
        }
        if heard == Heard::Again {
            self.registry.tell_all(Hint::Resumed);
        }
    }

    /// Waits for a job, the wake file, or the end of a lease that somebody waits
    /// for; true when that has come.
    fn wait(&self, wake: &OwnedFd, limit: Option<Duration>) -> bool {
        let interval = self
            .wake_file
            .interval()
            .filter(|_| !self.registry.is_empty());
        let end = self.until_first_end();
        let least = [limit, interval, end].into_iter().flatten().min();
        let timeout = least.map(|wait| Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        });
        let mut fds = vec![PollFd::new(wake, PollFlags::IN)];
        if let Some(wake_file) = self.wake_file.fd() {
            fds.push(PollFd::from_borrowed_fd(wake_file, PollFlags::IN));
        }
        if poll(&mut fds, timeout.as_ref()).is_err() {
            // Interrupted; with any other error at least no spinning.
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut counter = [0_u8; 8];
        // Nothing to read when it was not the jobs that woke us.
        let _ = rustix::io::read(wake, &mut counter);
        self.until_first_end().is_some_and(|left| left.is_zero())
    }

    /// How long until the first lease that a waiter waits for is over.
    fn until_first_end(&self) -> Option<Duration> {
        let end = self.registry.first_end()?;
        let now = self.database.now()?;
        // The last millisecond is still owned.
        Some((end + Duration::from_millis(1)).since(now))
    }
}
