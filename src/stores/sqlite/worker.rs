//! What has the connection, and the thread that does what must wait.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::config::Config;
use super::database::Database;
use super::shared_connection::SharedConnection;
use super::wake_file::{Heard, Listening, WakeFile};
use super::watch::Registry;
use crate::backend::{Answer, Bid, Held, Hint, Interest};
use crate::error::Result;
use crate::model::MutexName;
use crate::stores::kit::HintSender;

/// Something to do on the thread.
pub(super) type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// So many jobs in a row at most, before the wake file is listened to.
const JOBS: usize = 64;

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) database: Database,
    pub(super) wake_file: WakeFile,
    registry: Registry,
    pub(super) closing: bool,
}

/// What the thread waits for, beside jobs.
struct Wait {
    wake_file: Option<Arc<OwnedFd>>,
    limit: Option<Duration>,
}

/// Does jobs and listens to the wake file, until it is told to close or nobody
/// can give it jobs any more.
pub(super) fn work(shared: &SharedConnection, jobs: &Receiver<Job>) {
    loop {
        let next = shared.on_the_thread(|worker| {
            worker.listen();
            worker.do_jobs(jobs, shared)
        });
        match next {
            Some(wait) => wait.until_woken(&shared.wake),
            None => return,
        }
    }
}

impl Wait {
    fn until_woken(self, wake: &OwnedFd) {
        let timeout = self.limit.map(|wait| Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        });
        let mut fds = vec![PollFd::new(wake, PollFlags::IN)];
        if let Some(wake_file) = &self.wake_file {
            fds.push(PollFd::new(wake_file, PollFlags::IN));
        }
        if poll(&mut fds, timeout.as_ref()).is_err() {
            // Interrupted; with any other error at least no spinning.
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut counter = [0_u8; 8];
        // Nothing to read when it was not the jobs that woke us.
        let _ = rustix::io::read(wake, &mut counter);
    }
}

/// On the thread.
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

    /// What to wait for next; `None` when it is over.
    fn do_jobs(&mut self, jobs: &Receiver<Job>, shared: &SharedConnection) -> Option<Wait> {
        for _ in 0..JOBS {
            match jobs.try_recv() {
                Ok(job) => {
                    job(self);
                    shared.done();
                }
                Err(TryRecvError::Empty) => return Some(self.wait()),
                Err(TryRecvError::Disconnected) => return None,
            }
            if self.closing {
                return None;
            }
        }
        Some(Wait {
            wake_file: None,
            limit: Some(Duration::ZERO),
        })
    }

    /// Tells the listeners what the wake file, or the end of a lease, has to say.
    fn listen(&mut self) {
        let mut heard = self.wake_file.heard();
        if self.database.take_reopened() {
            heard = Heard::Again;
        }
        if self.registry.is_empty() {
            return;
        }
        let is_due = self.until_first_end().is_some_and(|left| left.is_zero());
        if heard != Heard::Nothing || is_due {
            self.registry.look(&mut self.database);
            // Who has gone wants to hear nothing more.
            self.wake_file.listen_to(self.registry.listening());
        }
        if heard == Heard::Again {
            self.registry.tell_all(Hint::Resumed);
        }
    }

    pub(super) fn add_listener(&mut self, interest: &Interest, hints: HintSender) {
        // Before anything is looked at: what is written from here on is heard.
        let more = if interest.owner {
            Listening::ToGrants
        } else {
            Listening::ToWrites
        };
        self.wake_file
            .listen_to(self.registry.listening().max(more));
        self.registry.add(interest, hints, &mut self.database);
    }

    /// Until a job, the wake file, or the end of a lease that a waiter waits for.
    fn wait(&self) -> Wait {
        let limits = [self.wake_file.interval(), self.until_first_end()];
        Wait {
            wake_file: self.wake_file.fd(),
            limit: limits.into_iter().flatten().min(),
        }
    }

    /// How long until the first lease that a waiter waits for is over.
    fn until_first_end(&self) -> Option<Duration> {
        let end = self.registry.first_end()?;
        let now = self.database.now()?;
        // The last millisecond is still owned.
        Some((end + Duration::from_millis(1)).since(now))
    }

    pub(super) fn acquire(&mut self, bid: &Bid) -> Result<Answer> {
        // A look first: who must wait takes no lock and writes nothing.
        let looked = self.database.read(|table| table.answer_if_owned(bid))?;
        if let Some(answer) = looked {
            return Ok(answer);
        }
        let answer = self.database.write(|table| table.acquire(bid))?;
        if answer.is_won() {
            self.wake_file.touch();
        }
        Ok(answer)
    }

    /// Frees something, and writes to the wake file if that was so.
    pub(super) fn free(
        &mut self,
        work: impl FnOnce(&mut Database) -> Result<Answer>,
    ) -> Result<Answer> {
        let answer = work(&mut self.database);
        if answer.as_ref().is_ok_and(Answer::is_won) {
            self.wake_file.write();
        }
        answer
    }
}

/// On the thread of a caller: `None` when it would have to wait.
impl Worker {
    pub(super) fn acquire_at_once(&mut self, bid: &Bid) -> Option<Result<Answer>> {
        let answer = self.database.take_at_once(bid)?;
        if answer.as_ref().is_ok_and(Answer::is_won) {
            self.wake_file.touch();
        }
        Some(answer)
    }

    pub(super) fn release_at_once(&mut self, held: &Held) -> Option<Result<Answer>> {
        let answer = self.database.release_at_once(held)?;
        if answer.as_ref().is_ok_and(Answer::is_won) {
            self.wake_file.write();
        }
        Some(answer)
    }

    /// When nothing has to be undone.
    pub(super) fn leave_at_once(&mut self, bid: &Bid) -> Option<Result<()>> {
        let read = self
            .database
            .read_at_once(|table| table.answer_unless_owned_by(bid))?;
        match read {
            Ok(Some(_)) => Some(Ok(())),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }

    pub(super) fn owner_at_once(&mut self, name: &MutexName) -> Option<Result<Answer>> {
        self.database.read_at_once(|table| table.owner(name))
    }
}
