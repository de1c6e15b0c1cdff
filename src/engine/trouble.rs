//! [`Troubles`]: what fails and is tried again, told to its readers.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::error::Error;
use crate::model::MutexName;
use crate::sync::Mutex;
use crate::telemetry::{Meters, story};

/// The most that is kept for a reader who does not read; then the oldest goes.
const KEPT: usize = 256;

/// What a coordinator was doing with its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Doing {
    /// Taking, renewing or giving back a mutex.
    Contending,
    /// Looking who owns a mutex.
    Observing,
    /// Reading or writing the ledger of a schedule.
    Recording,
}

/// Something that failed and is tried again, or goes well again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trouble {
    /// What it is about.
    pub mutex: MutexName,
    /// What was tried.
    pub doing: Doing,
    /// Who tried: one contention, one observer or one scheduler has the same
    /// number in all that is told of it.
    pub source: u64,
    /// How it went.
    pub news: TroubleNews,
}

/// How a try went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TroubleNews {
    /// It failed, and is tried again: told of every try. Where the error says
    /// [`Retry::Never`](crate::Retry::Never), a person has to do something.
    Failed(Error),
    /// It went well, after it had failed.
    Well,
    /// It is not tried any more.
    GivenUp,
}

/// A stream of [`Trouble`]; it ends when the coordinator is closed, or gone.
///
/// Whatever waits or goes on by itself (a lock that is waited for, a campaign,
/// an observer, a service, a schedule) tries again when the store fails. This
/// is where it says so. Every failed try is told; who writes it down wants to
/// do so once, and again when the error is another.
///
/// A reader that falls behind loses the oldest, after some hundreds.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::{Coordinator, TroubleNews};
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let mut troubles = coordinator.troubles();
/// let told = tokio::spawn(async move {
///     while let Some(trouble) = troubles.next().await {
///         match trouble.news {
///             TroubleNews::Failed(error) => eprintln!("{}: {error}", trouble.mutex),
///             _ => eprintln!("{}: over", trouble.mutex),
///         }
///     }
/// });
/// coordinator.close().await?;
/// told.await.unwrap();
/// # Ok(())
/// # }
/// ```
pub struct Troubles {
    inbox: Arc<Mutex<Inbox>>,
}

#[derive(Default)]
struct Inbox {
    troubles: VecDeque<Trouble>,
    waker: Option<Waker>,
    is_closed: bool,
}

impl Troubles {
    /// The next word; `None` after the coordinator has been closed.
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn next(&mut self) -> Option<Trouble> {
        poll_fn(|cx| self.poll_trouble(cx)).await
    }

    fn poll_trouble(&mut self, cx: &mut Context<'_>) -> Poll<Option<Trouble>> {
        // A waker is foreign code: cloned before and dropped after the lock.
        let mut waker = Some(cx.waker().clone());
        let mut inbox = self.inbox.lock();
        if let Some(trouble) = inbox.troubles.pop_front() {
            return Poll::Ready(Some(trouble));
        }
        if inbox.is_closed {
            return Poll::Ready(None);
        }
        std::mem::swap(&mut inbox.waker, &mut waker);
        drop(inbox);
        Poll::Pending
    }
}

impl Stream for Troubles {
    type Item = Trouble;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Trouble>> {
        self.poll_trouble(cx)
    }
}

impl fmt::Debug for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Troubles")
            .field("unread", &self.inbox.lock().troubles.len())
            .finish()
    }
}

/// Where all troubles of a coordinator come together.
#[derive(Clone)]
pub(crate) struct TroubleBoard(Arc<TroubleBoardParts>);

struct TroubleBoardParts {
    readers: Mutex<Readers>,
    sources: AtomicU64,
    in_trouble: InTrouble,
}

/// Counts who fails, and tells of the first trouble and of the end of the last:
/// while the store is away a thousand contentions fail, and two lines say so.
///
/// A reporter that gives up is not counted any more; that says nothing of the
/// store. All is told to be well only when the store has answered.
struct InTrouble {
    /// How many have failed and try again.
    failing: AtomicU64,
    /// Whether it has been told that the store is in trouble.
    is_told: AtomicBool,
    meters: Meters,
}

impl InTrouble {
    fn enter(&self) {
        if self.failing.fetch_add(1, Ordering::SeqCst) == 0 {
            self.meters.is_in_trouble();
        }
    }

    fn leave(&self) {
        if self.failing.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.meters.is_well();
        }
    }

    fn failed(&self, error: &Error) {
        if !self.is_told.swap(true, Ordering::SeqCst) {
            story::store_failed(error);
        }
    }

    /// The store has answered one of them.
    fn answered(&self) {
        if self.is_told.load(Ordering::Relaxed)
            && self.is_well()
            && self.is_told.swap(false, Ordering::SeqCst)
        {
            story::store_well();
        }
    }

    fn is_well(&self) -> bool {
        self.failing.load(Ordering::SeqCst) == 0
    }
}

#[derive(Default)]
struct Readers {
    inboxes: Vec<Weak<Mutex<Inbox>>>,
    is_closed: bool,
}

impl TroubleBoardParts {
    fn each(&self, mut tell: impl FnMut(&mut Inbox)) {
        let inboxes: Vec<_> = self
            .readers
            .lock()
            .inboxes
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for inbox in inboxes {
            let waker = {
                let mut inbox = inbox.lock();
                tell(&mut inbox);
                inbox.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Drop for TroubleBoardParts {
    /// The coordinator has gone without a close: its readers need not wait.
    fn drop(&mut self) {
        self.each(|inbox| inbox.is_closed = true);
    }
}

impl TroubleBoard {
    pub(crate) fn new(meters: Meters) -> Self {
        Self(Arc::new(TroubleBoardParts {
            readers: Mutex::default(),
            sources: AtomicU64::new(0),
            in_trouble: InTrouble {
                failing: AtomicU64::new(0),
                is_told: AtomicBool::new(false),
                meters,
            },
        }))
    }

    pub(crate) fn read(&self) -> Troubles {
        let mut readers = self.0.readers.lock();
        let inbox = Arc::new(Mutex::new(Inbox {
            is_closed: readers.is_closed,
            ..Inbox::default()
        }));
        readers.inboxes.retain(|inbox| inbox.strong_count() > 0);
        readers.inboxes.push(Arc::downgrade(&inbox));
        Troubles { inbox }
    }

    /// One who tries something again and again.
    pub(crate) fn reporter(&self, mutex: &MutexName, doing: Doing) -> TroubleReporter {
        TroubleReporter {
            board: self.clone(),
            mutex: mutex.clone(),
            doing,
            source: self.0.sources.fetch_add(1, Ordering::Relaxed),
            is_in_trouble: false,
            is_counted: false,
        }
    }

    /// Whether nothing fails at present.
    pub(crate) fn is_well(&self) -> bool {
        self.0.in_trouble.is_well()
    }

    /// Nothing more will be told.
    pub(crate) fn close(&self) {
        self.0.readers.lock().is_closed = true;
        self.0.each(|inbox| inbox.is_closed = true);
    }

    fn tell(&self, trouble: &Trouble) {
        self.0.each(|inbox| {
            if inbox.troubles.len() >= KEPT {
                inbox.troubles.pop_front();
            }
            inbox.troubles.push_back(trouble.clone());
        });
    }
}

impl fmt::Debug for TroubleBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TroubleBoard").finish_non_exhaustive()
    }
}

/// One who tries something again and again, and says how it goes.
#[derive(Debug)]
pub(crate) struct TroubleReporter {
    board: TroubleBoard,
    mutex: MutexName,
    doing: Doing,
    source: u64,
    /// Whether its readers have been told of a failure, and not of its end.
    is_in_trouble: bool,
    /// Whether it has failed and tries again.
    is_counted: bool,
}

impl TroubleReporter {
    pub(crate) fn failed(&mut self, error: &Error) {
        self.is_in_trouble = true;
        if !std::mem::replace(&mut self.is_counted, true) {
            self.board.0.in_trouble.enter();
        }
        self.board.0.in_trouble.failed(error);
        self.tell(TroubleNews::Failed(error.clone()));
    }

    /// The store has answered.
    pub(crate) fn well(&mut self) {
        self.rests();
        self.board.0.in_trouble.answered();
        if std::mem::take(&mut self.is_in_trouble) {
            self.tell(TroubleNews::Well);
        }
    }

    /// It tries nothing for now, so nothing of it fails.
    pub(crate) fn rests(&mut self) {
        if std::mem::take(&mut self.is_counted) {
            self.board.0.in_trouble.leave();
        }
    }

    fn tell(&self, news: TroubleNews) {
        self.board.tell(&Trouble {
            mutex: self.mutex.clone(),
            doing: self.doing,
            source: self.source,
            news,
        });
    }
}

impl Drop for TroubleReporter {
    fn drop(&mut self) {
        self.rests();
        if self.is_in_trouble {
            self.tell(TroubleNews::GivenUp);
        }
    }
}
