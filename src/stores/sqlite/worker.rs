//! What has the connection, and the thread that does what must wait.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::config::Config;
use super::database::{Chance, Database};
use super::job::Job;
use super::shared_connection::SharedConnection;
use super::wake_file::{Heard, Listening, WITHOUT_A_FILE, WakeFile};
use super::watch::Registry;
use crate::backend::{Answer, Bid, Held, Hint, Interest};
use crate::error::Result;
use crate::model::MutexName;
use crate::stores::kit::{HintSender, News};

/// So many jobs in a row at most, before the wake file is listened to.
const JOBS: usize = 64;

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) database: Database,
    pub(super) wake_file: WakeFile,
    registry: Registry,
    /// When it last listened to the wake file.
    listened_at: Instant,
    pub(super) closing: bool,
}

/// What the thread does when there is no job.
enum Next {
    Wait(Wait),
    Close,
}

/// What follows from something that was done with the connection.
struct WorkDone {
    next: Next,
    /// To be told when others have the connection again: who hears that it is its
    /// turn wants to take at once.
    news: Vec<News>,
}

impl WorkDone {
    fn told(self) -> Next {
        self.news.into_iter().for_each(News::tell);
        self.next
    }
}

/// What the thread waits for, beside jobs.
struct Wait {
    wake_file: Option<Arc<OwnedFd>>,
    until: Option<Instant>,
}

/// Why the thread no longer waits.
#[derive(PartialEq, Eq)]
enum Woken {
    /// By nothing else.
    ByJobs,
    /// By the wake file, or by the time.
    ByMore,
}

/// Does jobs and listens to the wake file, until it is told to close or no
/// client can give it jobs any more.
pub(super) fn work(shared: &SharedConnection, jobs: &Receiver<Box<dyn Job>>) {
    let mut next = shared.on_the_thread(Worker::listen).told();
    let mut in_a_row = 0;
    while let Next::Wait(wait) = &next {
        let must_listen = match jobs.try_recv() {
            Ok(mut job) => {
                let done = shared.as_announced(|worker| worker.run(&mut *job));
                job.tell();
                next = done.told();
                in_a_row += 1;
                in_a_row == JOBS
            }
            // For a job alone, the connection is left to the callers meanwhile.
            Err(TryRecvError::Empty) => wait.until_woken(&shared.wake) != Woken::ByJobs,
            Err(TryRecvError::Disconnected) => return,
        };
        if must_listen {
            next = shared.on_the_thread(Worker::listen).told();
            in_a_row = 0;
        }
    }
}

impl Wait {
    fn until_woken(&self, wake: &OwnedFd) -> Woken {
        let timeout = self.until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        let mut fds = vec![PollFd::new(wake, PollFlags::IN)];
        if let Some(wake_file) = &self.wake_file {
            fds.push(PollFd::new(wake_file, PollFlags::IN));
        }
        if poll(&mut fds, timeout.as_ref()).is_err() {
            // Interrupted; with any other error at least no spinning.
            std::thread::sleep(Duration::from_millis(1));
        }
        let came = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let by_jobs = came(&fds[0]);
        if by_jobs {
            let _ = rustix::io::read(wake, &mut [0_u8; 8]);
        }
        if by_jobs && !fds[1..].iter().any(came) {
            Woken::ByJobs
        } else {
            Woken::ByMore
        }
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
            listened_at: Instant::now(),
            closing: false,
        })
    }

    fn run(&mut self, job: &mut dyn Job) -> WorkDone {
        job.run(self);
        if self.database.is_reopened() {
            self.listen()
        } else {
            let (next, news) = (self.next(), Vec::new());
            WorkDone { next, news }
        }
    }

    fn next(&self) -> Next {
        if self.closing {
            Next::Close
        } else {
            Next::Wait(self.wait())
        }
    }

    /// Finds out what the wake file, or the end of a lease, has to say to the listeners.
    fn listen(&mut self) -> WorkDone {
        self.listened_at = Instant::now();
        let mut heard = self.wake_file.heard();
        if self.database.take_reopened() | self.database.show_again() {
            heard = Heard::Again;
        }
        let news = if self.registry.is_empty() {
            Vec::new()
        } else {
            self.news(&heard)
        };
        let next = self.next();
        WorkDone { next, news }
    }

    fn news(&mut self, heard: &Heard) -> Vec<News> {
        let mut news = Vec::new();
        let is_due = self.until_first_end().is_some_and(|left| left.is_zero());
        if *heard != Heard::Nothing || is_due {
            news = self.registry.look(&mut self.database);
            // Who has gone wants to hear nothing more.
            self.listen_to(self.registry.listening());
        }
        if *heard == Heard::Again {
            self.registry.tell_all(Hint::Resumed);
        }
        news
    }

    fn listen_to(&mut self, listening: Listening) {
        self.database.listen_to(listening);
        self.wake_file.listen_to(listening);
    }

    pub(super) fn add_listener(&mut self, interest: &Interest, hints: HintSender) {
        // Before anything is looked at: what is written from here on is heard.
        let more = if interest.owner {
            Listening::ToGrants
        } else {
            Listening::ToWrites
        };
        self.listen_to(self.registry.listening().max(more));
        self.registry.add(interest, hints, &mut self.database);
    }

    /// Until a job, the wake file, or the end of a lease that a waiter waits for.
    fn wait(&self) -> Wait {
        // From when it last listened: jobs must not put that off.
        let unseen = (!self.database.is_shown()).then_some(WITHOUT_A_FILE);
        let listens = [self.wake_file.interval(), unseen];
        let listens = listens.into_iter().flatten().min();
        let listens = listens.map(|interval| self.listened_at + interval);
        let ends = self.until_first_end();
        let ends = ends.map(|left| Instant::now() + left);
        Wait {
            wake_file: self.wake_file.fd(),
            until: [listens, ends].into_iter().flatten().min(),
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
            self.tell_of_grant();
        }
        Ok(answer)
    }

    /// After the commit.
    fn tell_of_grant(&self) {
        if self.database.is_heard(Listening::ToGrants) {
            self.wake_file.touch();
        }
    }

    /// After the commit.
    fn tell_of_release(&self) {
        if self.database.is_heard(Listening::ToWrites) {
            self.wake_file.write();
        }
    }

    /// Frees something, and tells those who listen if that was so.
    pub(super) fn free(
        &mut self,
        work: impl FnOnce(&mut Database) -> Result<Answer>,
    ) -> Result<Answer> {
        let answer = work(&mut self.database);
        if answer.as_ref().is_ok_and(Answer::is_won) {
            self.tell_of_release();
        }
        answer
    }
}

/// On the thread of a caller: `None` when it would have to wait.
impl Worker {
    pub(super) fn acquire_at_once(&mut self, bid: &Bid) -> Option<Result<Answer>> {
        let chance = if self.registry.saw_owned(&bid.name) {
            Chance::Slight
        } else {
            Chance::Good
        };
        let answer = self.database.take_at_once(bid, chance)?;
        if answer.as_ref().is_ok_and(Answer::is_won) {
            self.tell_of_grant();
        }
        Some(answer)
    }

    pub(super) fn release_at_once(&mut self, held: &Held) -> Option<Result<Answer>> {
        let answer = self.database.release_at_once(held)?;
        if answer.as_ref().is_ok_and(Answer::is_won) {
            self.tell_of_release();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContenderId, LeaseTerms};
    use crate::stores::kit::hints;

    fn bid(who: &str) -> Bid {
        let (name, who) = (MutexName::new("m"), ContenderId::new(who));
        let terms = LeaseTerms::new(Duration::from_secs(60), Duration::from_secs(60));
        Bid::new(name.unwrap(), who.unwrap(), terms.unwrap())
    }

    /// A worker, and what it has won.
    fn owner(folder: &tempfile::TempDir) -> (Worker, Held) {
        let url = format!("sqlite:{}/locks.db", folder.path().display());
        let mut worker = Worker::open(Config::new(&url.parse().unwrap()).unwrap()).unwrap();
        // The first writes are the thread's.
        loop {
            let bid = bid("owner");
            let won = worker.acquire(&bid).unwrap();
            let held = bid.held(won.token().unwrap());
            if worker.database.release_at_once(&held).is_some() {
                let bid = self::bid("owner");
                let won = worker.acquire(&bid).unwrap();
                return (worker, bid.held(won.token().unwrap()));
            }
            let freed = worker.free(|database| database.write(|table| table.release(&held)));
            assert!(freed.unwrap().is_won());
        }
    }

    #[test]
    fn who_waits_is_told_when_the_connection_can_be_had() {
        let folder = tempfile::tempdir().unwrap();
        let (mut worker, held) = owner(&folder);
        let (sender, mut stream) = hints();
        worker.add_listener(&Interest::in_turn(&bid("waiter")), sender);
        assert!(worker.registry.saw_owned(&held.name));
        assert!(worker.release_at_once(&held).unwrap().unwrap().is_won());
        let heard = worker.listen();
        // So who is told takes it without another look.
        assert!(!worker.registry.saw_owned(&held.name));
        assert_eq!(stream.try_next(), None);
        heard.told();
        assert_eq!(stream.try_next(), Some(Hint::Turn));
    }
}
