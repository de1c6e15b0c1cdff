//! Two processes, one store, some trouble; and what must be true afterwards.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::Page;
use tenure::clock::Clock;
use tenure::stores::memory::Memory;
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};
use tokio::task::JoinHandle;

use super::cut::{When, cut};

/// The trouble a future is in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scene {
    Free,
    /// Another process owns, for a while.
    Held,
    /// Tasks of the same process stand before and behind it.
    Crowded,
    /// Every request takes its time.
    SlowRequests,
    /// Every answer takes its time.
    SlowAnswers,
    /// The first answer of each kind is lost.
    LostAnswers,
    /// The first answer of each kind hangs for longer than any caller waits.
    HungAnswers,
}

impl Scene {
    const ALL: [Self; 7] = [
        Self::Free,
        Self::Held,
        Self::Crowded,
        Self::SlowRequests,
        Self::SlowAnswers,
        Self::LostAnswers,
        Self::HungAnswers,
    ];
}

const CALLS: [Call; 5] = [
    Call::Acquire,
    Call::Release,
    Call::Leave,
    Call::Owner,
    Call::Renew,
];

/// How long others hold it in a scene.
const TURN: Duration = Duration::from_millis(500);

/// Far less than a lease (16 s) or a quiesce (30 s): a caller that must wait
/// longer waits for something that was left behind.
const PROMPTLY: Duration = Duration::from_secs(3);

/// More polls than any future here needs, and more steps than any trouble
/// takes but that of answers that hang.
const ENOUGH: u32 = 80;

pub(crate) struct World {
    pub(crate) us: Coordinator,
    them: Coordinator,
    store: Memory,
    faults: Faults,
    others: Vec<JoinHandle<()>>,
}

impl World {
    fn new() -> Self {
        let clock = Clock::tokio();
        let store = Memory::with_clock(clock.clone());
        let faults = Faults::new(clock.clone());
        let process = |seed, faults: &Faults| {
            let backend = FaultBackend::new(store.another_client(), faults);
            let builder = Coordinator::builder().clock(clock.clone());
            builder.deterministic(seed).with_backend(backend).unwrap()
        };
        Self {
            us: process(1, &faults),
            them: process(2, &Faults::new(clock.clone())),
            faults,
            store,
            others: Vec::new(),
        }
    }

    /// Sets the scene; the one that is to own does so before.
    async fn set(&mut self, scene: Scene) {
        let turn =
            |coordinator: &Coordinator, after| tokio::spawn(turn(coordinator.clone(), after));
        let all = |fault| CALLS.map(|call| self.faults.always(call, fault));
        let first = |fault| CALLS.map(|call| self.faults.next(call, fault));
        let slow = Duration::from_millis(30);
        match scene {
            Scene::Free => {}
            Scene::Held => self.others.push(turn(&self.them, Duration::ZERO)),
            Scene::Crowded => {
                self.others.push(turn(&self.us, Duration::ZERO));
                self.others.push(turn(&self.us, Duration::from_millis(5)));
            }
            Scene::SlowRequests => drop(all(Fault::DelayBefore(slow))),
            Scene::SlowAnswers => drop(all(Fault::DelayAfter(slow))),
            Scene::LostAnswers => drop(first(Fault::LoseAnswer)),
            Scene::HungAnswers => drop(first(Fault::HangAfter)),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Nothing is left behind.
    async fn judge(self, case: &str) {
        for other in self.others {
            other.await.unwrap_or_else(|e| panic!("{case}: {e}"));
        }
        // Those of another process, while the trouble lasts; then our own.
        take(&self.them, case).await;
        self.faults.heal();
        take(&self.us, case).await;
        self.us.close().await.unwrap();
        self.them.close().await.unwrap();
        let listing = self.store.list(&Page::first(10)).await.unwrap();
        assert!(listing.entries.is_empty(), "{case}: {:?}", listing.entries);
    }
}

/// Holds it for a while, unless the coordinator is closed meanwhile.
async fn turn(coordinator: Coordinator, after: Duration) {
    tokio::time::sleep(after).await;
    let Ok(lock) = coordinator.lock("m") else {
        return;
    };
    let held = async {
        let Some(guard) = lock.acquire_within(PROMPTLY).await? else {
            return Ok(());
        };
        tokio::time::sleep(TURN).await;
        guard.release().await
    };
    let is_fine = held.await.is_ok() || coordinator.lock("m").is_err();
    assert!(is_fine, "a bystander was harmed");
}

/// The next contender gets it, unless its coordinator has been closed.
async fn take(coordinator: &Coordinator, case: &str) {
    let Ok(lock) = coordinator.lock("m") else {
        return;
    };
    let guard = lock.acquire_within(PROMPTLY).await.unwrap();
    let guard = guard.unwrap_or_else(|| panic!("{case}: something is left"));
    let released = guard.release().await;
    assert!(released.is_ok(), "{case}: {released:?}");
}

/// Drops what `prepare` makes after every number of polls and steps, in every scene.
/// What it prepares is there before the trouble starts.
pub(crate) async fn everywhere<F: Future>(prepare: impl AsyncFn(&World) -> F) {
    for scene in Scene::ALL {
        for when in [When::Polled, When::Woken, When::Waiting] {
            let mut most = 0;
            for count in 0..=ENOUGH {
                let mut world = World::new();
                let act = prepare(&world).await;
                world.set(scene).await;
                let cut_off = cut(act, count, when).await.is_none();
                let case = format!("{scene:?}, {when:?} after {count}");
                world.judge(&case).await;
                most = count;
                if !cut_off {
                    break;
                }
            }
            let ends = most < ENOUGH || when == When::Waiting;
            assert!(ends, "{scene:?}: it does not end");
        }
    }
}
