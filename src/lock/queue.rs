//! [`CompetitorQueue`]: who waits for one resource inside this process.
//!
//! First come, first served. Only the head competes outside; the others are
//! parked and cost nothing. A competitor may leave at any time, from any
//! place, by being dropped; the line closes behind it.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, PoisonError};
use std::task::{Poll, Waker};

use super::sync::Mutex;

/// One who competes. Its callbacks come in the order of the methods, each at
/// most once; the last one always comes, the others as far as it gets.
///
/// They run on the thread that joins, waits or leaves, outside of any lock of
/// the line: they may look at it.
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

    /// It has left the line.
    fn on_leaving(&self) {}
}

/// A line of [`Competitor`]s. `E` is what a holder may leave to the next one:
/// the resource itself, when it need not be given back outside.
pub struct CompetitorQueue<C, E = ()> {
    line: Mutex<Line<C, E>>,
}

struct Line<C, E> {
    nodes: VecDeque<Node<C>>,
    next_number: u64,
    /// Whether the first one holds the resource.
    is_held: bool,
    /// Left to the first one by the holder before it.
    estate: Option<E>,
}

struct Node<C> {
    number: u64,
    competitor: Arc<C>,
    waker: Option<Waker>,
}

impl<C: Competitor, E> CompetitorQueue<C, E> {
    /// An empty line.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let nodes = VecDeque::new();
        let line = Line {
            nodes,
            next_number: 0,
            is_held: false,
            estate: None,
        };
        Arc::new(Self {
            line: Mutex::new(line),
        })
    }

    /// Puts `competitor` at the end of the line.
    pub fn join(self: &Arc<Self>, competitor: C) -> Place<C, E> {
        self.with(|line| line.push(competitor)).on(self)
    }

    /// Puts `competitor` into the line if nobody else is in it.
    pub fn try_join(self: &Arc<Self>, competitor: C) -> Option<Place<C, E>> {
        let joined = self.with(|line| line.nodes.is_empty().then(|| line.push(competitor)));
        joined.map(|joined| joined.on(self))
    }

    /// Who holds the resource.
    #[must_use]
    pub fn holder(&self) -> Option<Arc<C>> {
        self.with(|line| {
            let first = line.nodes.front().filter(|_| line.is_held);
            first.map(|node| Arc::clone(&node.competitor))
        })
    }

    /// Whether the holder has this id.
    #[must_use]
    pub fn is_held_by(&self, holder_id: &str) -> bool {
        self.holder()
            .is_some_and(|holder| holder.holder_id() == holder_id)
    }

    /// How many are in the line, the holder included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.with(|line| line.nodes.len())
    }

    /// Whether nobody is in the line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with<T>(&self, look: impl FnOnce(&mut Line<C, E>) -> T) -> T {
        look(&mut self.line.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<C, E> Line<C, E> {
    fn push(&mut self, competitor: C) -> Joined<C> {
        self.next_number += 1;
        let (number, competitor) = (self.next_number, Arc::new(competitor));
        self.nodes.push_back(Node {
            number,
            competitor: Arc::clone(&competitor),
            waker: None,
        });
        Joined { number, competitor }
    }

    fn is_first(&self, number: u64) -> bool {
        self.nodes.front().is_some_and(|node| node.number == number)
    }

    /// Where a node stands: their numbers rise along the line.
    fn position(&self, number: u64) -> Option<usize> {
        self.nodes
            .binary_search_by_key(&number, |node| node.number)
            .ok()
    }

    /// Takes a node out. What is left to be done without the lock: dropping
    /// the node, dropping what nobody inherits, waking the next one.
    fn remove(&mut self, number: u64) -> Left<C, E> {
        let was_first = self.is_first(number);
        let node = self.position(number).and_then(|at| self.nodes.remove(at));
        let mut left = Left {
            node,
            ownerless: None,
            next: None,
        };
        if was_first {
            self.is_held = false;
            left.next = self.nodes.front_mut().and_then(|node| node.waker.take());
        }
        if self.nodes.is_empty() {
            left.ownerless = self.estate.take();
        }
        left
    }
}

/// What a competitor leaves behind.
struct Left<C, E> {
    node: Option<Node<C>>,
    ownerless: Option<E>,
    next: Option<Waker>,
}

struct Joined<C> {
    number: u64,
    competitor: Arc<C>,
}

impl<C: Competitor> Joined<C> {
    fn on<E>(self, queue: &Arc<CompetitorQueue<C, E>>) -> Place<C, E> {
        let Self { number, competitor } = self;
        Place {
            queue: Arc::clone(queue),
            number,
            competitor,
            stage: Stage::Waiting,
        }
    }
}

/// A place in the line; dropped, it is left.
#[must_use = "dropping a place leaves the line"]
pub struct Place<C: Competitor, E = ()> {
    queue: Arc<CompetitorQueue<C, E>>,
    number: u64,
    competitor: Arc<C>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Competing,
    Holding,
}

impl<C: Competitor, E> Place<C, E> {
    /// Waits, parked, until it stands first.
    ///
    /// # Cancel safety
    /// Dropping it keeps the place.
    pub async fn head(&mut self) {
        poll_fn(|cx| self.poll_first(cx.waker())).await;
        self.compete();
    }

    fn poll_first(&self, waker: &Waker) -> Poll<()> {
        // A waker is foreign code: cloned before and dropped after the lock.
        let mut waker = Some(waker.clone());
        self.queue.with(|line| {
            if line.is_first(self.number) {
                return Poll::Ready(());
            }
            if let Some(at) = line.position(self.number) {
                std::mem::swap(&mut line.nodes[at].waker, &mut waker);
            }
            Poll::Pending
        })
    }

    fn compete(&mut self) {
        if self.stage == Stage::Waiting {
            self.stage = Stage::Competing;
            self.competitor.before_competing();
        }
    }

    /// What the holder before left to it. Only the first one gets it.
    pub fn inherit(&mut self) -> Option<E> {
        self.queue.with(|line| {
            if line.is_first(self.number) {
                line.estate.take()
            } else {
                None
            }
        })
    }

    /// It has won the resource outside, or inherited it. Only the first one
    /// can; from any other this changes nothing.
    pub fn won(&mut self) {
        let is_first = self.queue.with(|line| {
            let is_first = line.is_first(self.number);
            line.is_held |= is_first;
            is_first
        });
        if is_first && self.stage != Stage::Holding {
            self.compete();
            self.stage = Stage::Holding;
            self.competitor.after_winning();
        }
    }

    /// Leaves `estate` to the next in line and leaves the line itself; gives
    /// it back when there is nobody.
    ///
    /// # Errors
    /// The estate, when nobody waits, or when it is not the first.
    pub fn bequeath(self, estate: E) -> Result<(), (Self, E)> {
        let mut estate = Some(estate);
        self.queue.with(|line| {
            let is_alone = line.nodes.len() == 1;
            if line.is_first(self.number) && !is_alone && line.estate.is_none() {
                line.estate = estate.take();
            }
        });
        match estate {
            None => Ok(()), // dropping the place wakes the heir
            Some(estate) => Err((self, estate)),
        }
    }

    /// Whether somebody stands behind it.
    #[must_use]
    pub fn has_successor(&self) -> bool {
        self.queue.with(|line| {
            line.nodes
                .back()
                .is_some_and(|last| last.number != self.number)
        })
    }
}

impl<C: Competitor, E> Drop for Place<C, E> {
    fn drop(&mut self) {
        {
            let _leaving = Leaving(self);
            if self.stage == Stage::Holding {
                self.queue.with(|line| line.is_held = false);
                self.competitor.after_releasing();
            }
        }
        self.competitor.on_leaving();
    }
}

/// Closes the line behind a place, whatever its callbacks do: a panic in one
/// must not park everybody else for ever.
struct Leaving<'a, C: Competitor, E>(&'a Place<C, E>);

impl<C: Competitor, E> Drop for Leaving<'_, C, E> {
    fn drop(&mut self) {
        let Place { queue, number, .. } = self.0;
        let left = queue.with(|line| line.remove(*number));
        drop((left.node, left.ownerless));
        if let Some(next) = left.next {
            next.wake();
        }
    }
}

impl<C: Competitor, E> fmt::Debug for CompetitorQueue<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (is_held, competitors) = self.with(|line| {
            let all = line.nodes.iter().map(|node| Arc::clone(&node.competitor));
            (line.is_held, all.collect::<Vec<_>>())
        });
        let ids: Vec<_> = competitors.iter().map(|one| one.holder_id()).collect();
        f.debug_struct("CompetitorQueue")
            .field("is_held", &is_held)
            .field("line", &ids)
            .finish()
    }
}

impl<C: Competitor, E> fmt::Debug for Place<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("competitor", &self.competitor)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
