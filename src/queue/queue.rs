//! [`CompetitorQueue`], its [`Competitor`]s and their [`Place`]s.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, PoisonError};
use std::task::{Poll, Waker};

use super::sync::Mutex;

/// One who competes. Its callbacks come in the order of the methods, each at
/// most once; the last one always comes, the others as far as it gets.
///
/// They run on the thread that waits or leaves, outside of the queue's own
/// mutex: they may look at the queue.
pub trait Competitor: fmt::Debug + Send + Sync + 'static {
    /// Who it is; competitors with the same id are the same holder.
    fn holder_id(&self) -> &str;

    /// It stands first and will compete outside.
    fn before_competing(&self) {}

    /// It holds the resource.
    fn after_winning(&self) {}

    /// It holds the resource no more. The next one competes after this has
    /// returned.
    fn after_releasing(&self) {}

    /// It has left the queue.
    fn on_leaving(&self) {}
}

/// A first-come, first-served queue of [`Competitor`]s for one resource. `R` is
/// what a holder may hand over to the next competitor: the resource itself,
/// when it need not be given back outside.
pub struct CompetitorQueue<C, R = ()> {
    entries: Mutex<Entries<C, R>>,
}

struct Entries<C, R> {
    /// In the order of joining.
    all: VecDeque<Entry<C>>,
    next_number: u64,
    /// Whether the first one holds the resource.
    is_held: bool,
    /// What the holder before has handed over to the first one.
    handed_over: Option<R>,
    /// What the last holder has left behind for the next that comes.
    left_behind: Option<R>,
}

struct Entry<C> {
    number: u64,
    competitor: Arc<C>,
    waker: Option<Waker>,
}

impl<C: Competitor, R> CompetitorQueue<C, R> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Arc<Self> {
        // Most have one competitor and never another.
        let all = VecDeque::with_capacity(1);
        let entries = Entries {
            all,
            next_number: 0,
            is_held: false,
            handed_over: None,
            left_behind: None,
        };
        Arc::new(Self {
            entries: Mutex::new(entries),
        })
    }

    /// Puts `competitor` at the end of the queue.
    pub fn join(self: &Arc<Self>, competitor: impl Into<Arc<C>>) -> Place<C, R> {
        let competitor = competitor.into();
        self.with(|entries| entries.push(competitor)).on(self)
    }

    /// Puts `competitor` into the queue if it is empty.
    pub fn try_join(self: &Arc<Self>, competitor: impl Into<Arc<C>>) -> Option<Place<C, R>> {
        let competitor = competitor.into();
        let joined = self.with(|entries| entries.all.is_empty().then(|| entries.push(competitor)));
        joined.map(|joined| joined.on(self))
    }

    /// Who holds the resource.
    #[must_use]
    pub fn holder(&self) -> Option<Arc<C>> {
        self.with(|entries| {
            let first = entries.all.front().filter(|_| entries.is_held);
            first.map(|entry| Arc::clone(&entry.competitor))
        })
    }

    /// Whether the holder has this id.
    #[must_use]
    pub fn is_held_by(&self, holder_id: &str) -> bool {
        self.holder()
            .is_some_and(|holder| holder.holder_id() == holder_id)
    }

    /// Takes back what was [left behind](Place::leave_behind), if no
    /// competitor has taken it over.
    #[must_use]
    pub fn take_back(&self) -> Option<R> {
        self.with(|entries| entries.left_behind.take())
    }

    /// How many are in the queue, the holder included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.with(|entries| entries.all.len())
    }

    /// Whether it has no competitor, not even a holder.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with<T>(&self, look: impl FnOnce(&mut Entries<C, R>) -> T) -> T {
        look(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<C, R> Entries<C, R> {
    fn push(&mut self, competitor: Arc<C>) -> Joined<C> {
        self.next_number += 1;
        let number = self.next_number;
        self.all.push_back(Entry {
            number,
            competitor: Arc::clone(&competitor),
            waker: None,
        });
        Joined {
            number,
            competitor,
            is_first: self.all.len() == 1,
        }
    }

    fn is_first(&self, number: u64) -> bool {
        self.all.front().is_some_and(|entry| entry.number == number)
    }

    /// Where an entry stands: their numbers rise along the queue.
    fn position(&self, number: u64) -> Option<usize> {
        self.all
            .binary_search_by_key(&number, |entry| entry.number)
            .ok()
    }

    /// Takes an entry out. What is left to be done outside of the mutex: dropping
    /// the entry, dropping what no competitor takes over, waking the next one.
    fn remove(&mut self, number: u64) -> Left<C, R> {
        let was_first = self.is_first(number);
        let entry = self.position(number).and_then(|at| self.all.remove(at));
        let mut left = Left {
            entry,
            not_taken: None,
            next: None,
        };
        if was_first {
            self.is_held = false;
            left.next = self.all.front_mut().and_then(|entry| entry.waker.take());
        }
        if self.all.is_empty() {
            left.not_taken = self.handed_over.take();
        }
        left
    }
}

/// What a competitor leaves behind.
struct Left<C, R> {
    entry: Option<Entry<C>>,
    not_taken: Option<R>,
    next: Option<Waker>,
}

struct Joined<C> {
    number: u64,
    competitor: Arc<C>,
    is_first: bool,
}

impl<C: Competitor> Joined<C> {
    fn on<R>(self, queue: &Arc<CompetitorQueue<C, R>>) -> Place<C, R> {
        Place {
            queue: Arc::clone(queue),
            number: self.number,
            competitor: self.competitor,
            was_first: self.is_first,
            state: PlaceState::Waiting,
        }
    }
}

/// A competitor's place in the queue; dropped, it is left.
#[must_use = "dropping a place leaves the queue"]
pub struct Place<C: Competitor, R = ()> {
    queue: Arc<CompetitorQueue<C, R>>,
    number: u64,
    competitor: Arc<C>,
    /// Whether it found the queue empty: the first stays it until it leaves.
    was_first: bool,
    state: PlaceState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceState {
    Waiting,
    Competing,
    Holding,
}

impl<C: Competitor, R> Place<C, R> {
    /// Waits, parked, until it stands first.
    ///
    /// # Cancel safety
    /// Dropping it keeps the place.
    pub async fn head(&mut self) {
        poll_fn(|cx| self.poll_first(cx.waker())).await;
        self.compete();
    }

    fn poll_first(&self, waker: &Waker) -> Poll<()> {
        if self.was_first || self.queue.with(|entries| entries.is_first(self.number)) {
            return Poll::Ready(());
        }
        // A waker is foreign code: cloned before the mutex is taken, and dropped
        // after.
        let mut waker = Some(waker.clone());
        self.queue.with(|entries| {
            if entries.is_first(self.number) {
                return Poll::Ready(());
            }
            if let Some(at) = entries.position(self.number) {
                std::mem::swap(&mut entries.all[at].waker, &mut waker);
            }
            Poll::Pending
        })
    }

    fn compete(&mut self) {
        if self.state == PlaceState::Waiting {
            self.state = PlaceState::Competing;
            self.competitor.before_competing();
        }
    }

    /// What the holder before has handed over or left behind. Only the first
    /// one gets it, once.
    pub fn take_over(&mut self) -> Option<R> {
        self.queue.with(|entries| {
            if entries.is_first(self.number) {
                let handed_over = entries.handed_over.take();
                handed_over.or_else(|| entries.left_behind.take())
            } else {
                None
            }
        })
    }

    /// It has won the resource outside, or taken it over. Only the first one
    /// can; from any other this changes nothing.
    pub fn won(&mut self) {
        let is_first = self.queue.with(|entries| {
            let is_first = entries.is_first(self.number);
            entries.is_held |= is_first;
            is_first
        });
        if is_first && self.state != PlaceState::Holding {
            self.compete();
            self.state = PlaceState::Holding;
            self.competitor.after_winning();
        }
    }

    /// Hands `resource` over to the next competitor and leaves the queue. When
    /// the next one leaves before it has taken it over, the one after it can;
    /// when all have left, it is dropped.
    ///
    /// # Errors
    /// The place and the resource, when no competitor waits, or when it is not
    /// the first.
    pub fn hand_over(self, resource: R) -> Result<(), (Self, R)> {
        let mut resource = Some(resource);
        self.queue.with(|entries| {
            let is_alone = entries.all.len() == 1;
            if entries.is_first(self.number) && !is_alone && entries.handed_over.is_none() {
                entries.handed_over = resource.take();
            }
        });
        match resource {
            None => Ok(()), // dropping the place wakes the next one
            Some(resource) => Err((self, resource)),
        }
    }

    /// Leaves the queue, and leaves `resource` behind for the next that comes,
    /// until it is [taken back](CompetitorQueue::take_back). With the queue it
    /// is dropped.
    ///
    /// # Errors
    /// The place and the resource, when a competitor waits, who can have it
    /// [handed over](Self::hand_over), or when something lies there already.
    pub fn leave_behind(self, resource: R) -> Result<(), (Self, R)> {
        let mut resource = Some(resource);
        self.queue.with(|entries| {
            let is_alone = entries.is_first(self.number) && entries.all.len() == 1;
            if is_alone && entries.left_behind.is_none() {
                entries.left_behind = resource.take();
            }
        });
        match resource {
            None => Ok(()),
            Some(resource) => Err((self, resource)),
        }
    }

    /// Whether a competitor stands behind it.
    #[must_use]
    pub fn has_successor(&self) -> bool {
        self.queue.with(|entries| {
            entries
                .all
                .back()
                .is_some_and(|last| last.number != self.number)
        })
    }
}

impl<C: Competitor, R> Drop for Place<C, R> {
    fn drop(&mut self) {
        {
            let _leaving = Leaving(self);
            if self.state == PlaceState::Holding {
                self.queue.with(|entries| entries.is_held = false);
                self.competitor.after_releasing();
            }
        }
        self.competitor.on_leaving();
    }
}

/// Takes a place out of the queue, whatever its callbacks do: a panic in one
/// must not park all other competitors for ever.
struct Leaving<'a, C: Competitor, R>(&'a Place<C, R>);

impl<C: Competitor, R> Drop for Leaving<'_, C, R> {
    fn drop(&mut self) {
        let Place { queue, number, .. } = self.0;
        let left = queue.with(|entries| entries.remove(*number));
        drop((left.entry, left.not_taken));
        if let Some(next) = left.next {
            next.wake();
        }
    }
}

impl<C: Competitor, R> fmt::Debug for CompetitorQueue<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (is_held, competitors) = self.with(|entries| {
            let all = entries
                .all
                .iter()
                .map(|entry| Arc::clone(&entry.competitor));
            (entries.is_held, all.collect::<Vec<_>>())
        });
        let ids: Vec<_> = competitors.iter().map(|one| one.holder_id()).collect();
        f.debug_struct("CompetitorQueue")
            .field("is_held", &is_held)
            .field("competitors", &ids)
            .finish()
    }
}

impl<C: Competitor, R> fmt::Debug for Place<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("competitor", &self.competitor)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
