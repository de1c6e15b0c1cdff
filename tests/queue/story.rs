//! The queue by example, as it is built into the library.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use tenure::queue::{Competitor, CompetitorQueue, Place};

type Log = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
struct Walker {
    id: &'static str,
    log: Log,
    panics_on_release: bool,
}

impl Walker {
    fn new(id: &'static str, log: &Log) -> Self {
        Self {
            id,
            log: Arc::clone(log),
            panics_on_release: false,
        }
    }

    fn note(&self, what: &str) {
        self.log.lock().unwrap().push(format!("{} {what}", self.id));
    }
}

impl Competitor for Walker {
    fn holder_id(&self) -> &str {
        self.id
    }

    fn before_competing(&self) {
        self.note("competes");
    }

    fn after_winning(&self) {
        self.note("won");
    }

    fn after_releasing(&self) {
        self.note("released");
        assert!(!self.panics_on_release, "as asked");
    }

    fn on_leaving(&self) {
        self.note("left");
    }
}

type Queue = Arc<CompetitorQueue<Walker, u32>>;

fn queue() -> (Queue, Log) {
    (CompetitorQueue::new(), Log::default())
}

/// Counts how often it was woken.
#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl WakeCount {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn stands_first(place: &mut Place<Walker, u32>, wakes: &Arc<WakeCount>) -> bool {
    let waker = Waker::from(Arc::clone(wakes));
    let poll = pin!(place.head()).poll(&mut Context::from_waker(&waker));
    poll == Poll::Ready(())
}

#[test]
fn the_four_callbacks_come_in_order_and_once() {
    let (queue, log) = queue();
    let wakes = Arc::default();
    let mut place = queue.join(Walker::new("a", &log));
    assert!(stands_first(&mut place, &wakes));
    assert!(stands_first(&mut place, &wakes), "asking again is harmless");
    place.won();
    place.won();
    drop(place);
    assert_eq!(
        *log.lock().unwrap(),
        ["a competes", "a won", "a released", "a left"]
    );
}

#[test]
fn one_that_never_stood_first_only_leaves() {
    let (queue, log) = queue();
    let _first = queue.join(Walker::new("a", &log));
    let mut second = queue.join(Walker::new("b", &log));
    assert!(!stands_first(&mut second, &Arc::default()));
    drop(second);
    assert_eq!(*log.lock().unwrap(), ["b left"]);
    assert_eq!(queue.len(), 1);
}

#[test]
fn the_holder_is_visible_and_known_by_its_id() {
    let (queue, log) = queue();
    let mut place = queue.join(Walker::new("a", &log));
    assert!(stands_first(&mut place, &Arc::default()));
    assert!(queue.holder().is_none(), "it competes and does not hold");
    place.won();
    assert_eq!(queue.holder().unwrap().id, "a");
    let twin = Walker::new("a", &log);
    assert!(
        queue.is_held_by(twin.holder_id()),
        "the same id is the same holder"
    );
    assert!(!queue.is_held_by("b"));
    assert!(format!("{queue:?}").contains("is_held: true"));
    drop(place);
    assert!(queue.holder().is_none() && queue.is_empty());
}

#[test]
fn only_the_first_can_win_or_take_over() {
    let (queue, log) = queue();
    let mut first = queue.join(Walker::new("a", &log));
    let mut second = queue.join(Walker::new("b", &log));
    assert!(stands_first(&mut first, &Arc::default()));
    first.won();
    second.won();
    assert!(queue.is_held_by("a"), "a stranger's claim changes nothing");
    let (second, resource) = second.hand_over(7).unwrap_err();
    assert_eq!((resource, queue.len()), (7, 2));
    drop((first, second));
    let steps = log.lock().unwrap();
    assert!(!steps.contains(&"b won".to_owned()), "{steps:?}");
}

#[test]
fn the_next_one_alone_is_woken_when_the_first_leaves() {
    let (queue, log) = queue();
    let first = queue.join(Walker::new("a", &log));
    let all_wakes: [Arc<WakeCount>; 3] = Default::default();
    let mut places: Vec<_> = ["b", "c", "d"]
        .map(|id| queue.join(Walker::new(id, &log)))
        .into_iter()
        .collect();
    for (place, wakes) in places.iter_mut().zip(&all_wakes) {
        assert!(!stands_first(place, wakes));
    }
    drop(places.remove(1)); // from the middle: no turn comes
    assert_eq!(all_wakes.each_ref().map(|wakes| wakes.count()), [0, 0, 0]);
    drop(first);
    assert_eq!(all_wakes.each_ref().map(|wakes| wakes.count()), [1, 0, 0]);
    drop(places.remove(0)); // woken, and gone before it looked
    assert_eq!(all_wakes.each_ref().map(|wakes| wakes.count()), [1, 0, 1]);
    assert!(stands_first(&mut places[0], &all_wakes[2]));
}

#[test]
fn one_that_does_not_wait_joins_an_empty_line_only() {
    let (queue, log) = queue();
    let place = queue.try_join(Walker::new("a", &log)).unwrap();
    assert!(queue.try_join(Walker::new("b", &log)).is_none());
    drop(place);
    assert!(queue.try_join(Walker::new("c", &log)).is_some());
    // One that never got in has not left either.
    assert_eq!(*log.lock().unwrap(), ["a left", "c left"]);
}

#[test]
fn what_is_handed_over_goes_to_the_next_and_past_those_who_leave() {
    let (queue, log) = queue();
    let wakes = Arc::default();
    let mut first = queue.join(Walker::new("a", &log));
    let second = queue.join(Walker::new("b", &log));
    let mut third = queue.join(Walker::new("c", &log));
    assert!(stands_first(&mut first, &wakes));
    first.won();
    first.hand_over(7).unwrap();
    assert!(third.take_over().is_none(), "the second stands before it");
    drop(second);
    assert!(stands_first(&mut third, &wakes));
    assert_eq!(third.take_over(), Some(7));
    assert_eq!(third.take_over(), None, "once");
    let (_third, resource) = third.hand_over(8).unwrap_err();
    assert_eq!(resource, 8, "nobody waits");
}

#[test]
fn a_panicking_callback_does_not_park_the_others_for_ever() {
    let (queue, log) = queue();
    let wakes = Arc::<WakeCount>::default();
    let mut first = queue.join(Walker {
        panics_on_release: true,
        ..Walker::new("a", &log)
    });
    let mut second = queue.join(Walker::new("b", &log));
    assert!(stands_first(&mut first, &wakes));
    first.won();
    assert!(!stands_first(&mut second, &wakes));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(first)));
    assert!(panic.is_err());
    assert_eq!(wakes.count(), 1);
    assert!(stands_first(&mut second, &wakes));
}

/// A waker may own the very task that waits: dropped inside the queue's lock
/// it would leave the queue, and lock again.
#[test]
fn a_waker_that_owns_a_place_is_dropped_outside_of_the_lock() {
    struct Owner(#[allow(dead_code)] Place<Walker, u32>);
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {}
    }
    let (queue, log) = queue();
    let _first = queue.join(Walker::new("a", &log));
    let mut second = queue.join(Walker::new("b", &log));
    let owned = queue.join(Walker::new("c", &log));
    let waker = Waker::from(Arc::new(Owner(owned)));
    let poll = pin!(second.head()).poll(&mut Context::from_waker(&waker));
    assert!(poll.is_pending());
    drop(waker);
    assert!(!stands_first(&mut second, &Arc::default())); // replaces it
    assert_eq!(queue.len(), 2);
}
