//! Who competes in the model, for what, and what must be true of it.

use std::sync::{Arc, Mutex};

use shuttle::future::{spawn, yield_now};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use super::queue::{Competitor, CompetitorQueue, Place};

pub(crate) type Queue = Arc<CompetitorQueue<Runner, Resource>>;
type Task = shuttle::future::JoinHandle<()>;

/// The callbacks, in tnext order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Before,
    Won,
    Released,
    Left,
}

/// How a runner ends when no other interferes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    GiveBack,
    HandOver,
    /// Leaves as soon as it stands first.
    Refuse,
}

/// What is true outside of the queue.
#[derive(Debug, Default)]
pub(crate) struct World {
    is_taken: AtomicBool,
    inside: AtomicUsize,
    /// Whether others may run while a callback does.
    has_slow_callbacks: bool,
    /// Never held across a point where the checker may switch.
    steps: Mutex<Vec<(usize, Step)>>,
}

#[derive(Debug)]
pub(crate) struct Runner {
    id: usize,
    name: String,
    world: Arc<World>,
}

impl Runner {
    pub(crate) fn new(id: usize, world: &Arc<World>) -> Self {
        Self {
            id,
            name: id.to_string(),
            world: Arc::clone(world),
        }
    }

    fn note(&self, step: Step) {
        if self.world.has_slow_callbacks {
            self.world.inside.load(SeqCst); // the checker may switch here
        }
        self.world.steps.lock().unwrap().push((self.id, step));
    }
}

impl Competitor for Runner {
    fn holder_id(&self) -> &str {
        &self.name
    }

    fn before_competing(&self) {
        self.note(Step::Before);
    }

    fn after_winning(&self) {
        self.note(Step::Won);
    }

    fn after_releasing(&self) {
        self.note(Step::Released);
    }

    fn on_leaving(&self) {
        self.note(Step::Left);
    }
}

/// The resource in a runner's hands; dropped, it is given back outside.
#[derive(Debug)]
pub(crate) struct Resource(Arc<World>);

impl Resource {
    /// Wins it outside, where a lost one would be waited for in vain.
    async fn take(world: &Arc<World>) -> Self {
        while world.is_taken.swap(true, SeqCst) {
            yield_now().await;
        }
        Self(Arc::clone(world))
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        assert!(self.0.is_taken.swap(false, SeqCst), "given back twice");
    }
}

/// The critical section.
struct Inside<'a>(&'a World);

impl<'a> Inside<'a> {
    fn enter(world: &'a World) -> Self {
        assert_eq!(world.inside.fetch_add(1, SeqCst), 0, "two hold it");
        Self(world)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, SeqCst);
    }
}

/// A queue and the world around it.
#[derive(Clone)]
pub(crate) struct Track {
    pub(crate) world: Arc<World>,
    pub(crate) queue: Queue,
}

impl Track {
    pub(crate) fn new() -> Self {
        let world = World {
            has_slow_callbacks: true,
            ..World::default()
        };
        Self {
            world: Arc::new(world),
            ..Self::with_quick_callbacks()
        }
    }

    /// With fewer points where the checker may switch.
    pub(crate) fn with_quick_callbacks() -> Self {
        Self {
            world: Arc::default(),
            queue: CompetitorQueue::new(),
        }
    }

    pub(crate) fn join(&self, id: usize) -> Place<Runner, Resource> {
        self.queue.join(Runner::new(id, &self.world))
    }

    /// The resource, while no other can have it.
    pub(crate) fn resource(&self) -> Resource {
        assert!(!self.world.is_taken.swap(true, SeqCst));
        Resource(Arc::clone(&self.world))
    }

    /// A runner that joins by itself.
    pub(crate) fn spawn(&self, id: usize, ending: Ending) -> Task {
        let track = self.clone();
        spawn(async move {
            let place = track.join(id);
            track.run(place, ending).await;
        })
    }

    /// A runner that stands in the queue already.
    pub(crate) fn spawn_at(&self, place: Place<Runner, Resource>, ending: Ending) -> Task {
        let track = self.clone();
        spawn(async move { track.run(place, ending).await })
    }

    /// Waits, holds, and ends as told; may be dropped at any await.
    pub(crate) async fn run(&self, mut place: Place<Runner, Resource>, ending: Ending) {
        place.head().await;
        if matches!(ending, Ending::Refuse) {
            return;
        }
        let resource = match place.take_over() {
            Some(resource) => resource,
            None => Resource::take(&self.world).await,
        };
        place.won();
        {
            let _inside = Inside::enter(&self.world);
            let holder = self.queue.holder().expect("the holder is visible");
            yield_now().await;
            assert!(self.queue.is_held_by(holder.holder_id()));
        }
        match ending {
            // None waits: given back outside, then the queue is left.
            Ending::HandOver => drop(place.hand_over(resource).map_err(|(place, resource)| {
                drop(resource);
                place
            })),
            _ => drop(resource),
        }
    }

    /// Who won, in order.
    pub(crate) fn winners(&self) -> Vec<usize> {
        let steps = self.world.steps.lock().unwrap();
        let won = steps.iter().filter(|(_, step)| *step == Step::Won);
        won.map(|(id, _)| *id).collect()
    }

    /// When everybody has gone: nothing is left, and the callbacks of each
    /// came in order, once, and never two holders' in between each other's.
    pub(crate) fn judge(&self) {
        assert!(self.queue.is_empty(), "lost nodes: {:?}", self.queue);
        assert!(self.queue.holder().is_none());
        assert!(!self.world.is_taken.load(SeqCst), "the resource is lost");
        let steps = self.world.steps.lock().unwrap();
        let ids: std::collections::BTreeSet<_> = steps.iter().map(|(id, _)| *id).collect();
        for id in ids {
            let own: Vec<_> = steps.iter().filter(|(i, _)| *i == id).collect();
            let own: Vec<_> = own.into_iter().map(|(_, step)| *step).collect();
            assert!(own.is_sorted_by(|a, b| a < b), "{id}: {own:?}");
            assert_eq!(own.last(), Some(&Step::Left), "{id}: {own:?}");
            let has = |step| own.contains(&step);
            assert_eq!(has(Step::Won), has(Step::Released), "{id}: {own:?}");
            assert!(!has(Step::Won) || has(Step::Before), "{id}: {own:?}");
        }
        let mut first = None;
        for (id, step) in steps.iter() {
            match step {
                Step::Before | Step::Won => {
                    assert!(first.is_none_or(|first| first == *id), "{steps:?}");
                    first = (*step == Step::Won).then_some(*id);
                }
                Step::Released => first = None,
                Step::Left => {}
            }
        }
    }
}
