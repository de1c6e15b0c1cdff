//! The life of a service.

use std::sync::{Arc, Mutex, mpsc};

use tenure::ErrorKind;
use tenure::backend::Backend;
use tenure::model::{MutexName, MutexOwner, MutexState};
use tenure::service::{Contender, LocalContender, Retriever, Status};
use tenure_testkit::fault::{Call, Fault};

use crate::support::{Diary, Listener, World, millis, name, secs};

#[tokio::test(start_paused = true)]
async fn it_can_be_started_and_stopped_again_and_again() {
    let world = World::new();
    let (process, _) = world.process();
    let diary = Diary::default();
    let service = process.contend_service(diary.contender("m")).unwrap();
    assert_eq!(service.status(), Status::Initial);
    for round in 1..=3 {
        service.start().unwrap();
        assert!(service.running());
        assert_eq!(service.state(), MutexState::NONE, "as new at each start");
        world
            .until("told", || diary.read().len() == 2 * round - 1)
            .await;
        world.pass(secs(120)).await;
        assert!(service.is_owner() && service.is_in_ttl());
        let id = service.contender().contender_id().clone();
        assert!(service.state().is_acquired(&id));
        service.stop().await.unwrap();
        assert_eq!(service.status(), Status::Initial);
        assert!(!service.running() && !service.is_owner());
        assert_eq!(
            diary.read().len(),
            2 * round,
            "on_released once, before stop returned"
        );
        assert_eq!(world.owner("m").await, MutexOwner::NONE);
    }
    assert_eq!(diary.read(), ["acquired", "released"].repeat(3));
}

#[tokio::test(start_paused = true)]
async fn calls_in_the_wrong_state_are_errors_and_change_nothing() {
    let world = World::new();
    let (process, _) = world.process();
    let service = process.contend_service(Listener::new("m")).unwrap();
    assert_eq!(
        service.stop().await.unwrap_err().kind(),
        ErrorKind::WrongState
    );
    service.start().unwrap();
    let error = service.start().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongState);
    assert!(error.to_string().contains("Running"), "{error}");
    world
        .until("owned all the same", || service.is_owner())
        .await;
    service.stop().await.unwrap();
    assert_eq!(
        service.stop().await.unwrap_err().kind(),
        ErrorKind::WrongState
    );
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_leaves_it_initial() {
    let world = World::new();
    let (process, _) = world.process();
    let service = process.contend_service(Listener::new("m")).unwrap();
    let watching = process.retrieval_service(Watcher::new("m")).unwrap();
    process.close().await.unwrap();
    assert_eq!(service.start().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(service.status(), Status::Initial);
    assert_eq!(watching.start().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(watching.status(), Status::Initial);
    let late = process.contend_service(Listener::new("m"));
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn closing_the_coordinator_delivers_on_released_before_it_returns() {
    let world = World::new();
    let (process, _) = world.process();
    let diary = Diary::default();
    let service = process.contend_service(diary.contender("m")).unwrap();
    service.start().unwrap();
    world.until("told", || diary.read() == ["acquired"]).await;
    process.close().await.unwrap();
    assert_eq!(diary.read(), ["acquired", "released"]);
    assert_eq!(service.status(), Status::Initial);
}

#[tokio::test(start_paused = true)]
async fn dropping_it_stops_it_in_the_background() {
    let world = World::new();
    let (process, _) = world.process();
    let diary = Diary::default();
    let service = process.contend_service(diary.contender("m")).unwrap();
    service.start().unwrap();
    world.until("told", || diary.read() == ["acquired"]).await;
    drop(service);
    world
        .until("released", || diary.read() == ["acquired", "released"])
        .await;
    world.pass(millis(50)).await;
    assert_eq!(world.owner("m").await, MutexOwner::NONE);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_life_had_to_say_is_dropped() {
    let world = World::new();
    let (process, _) = world.process_with(|builder| builder.quiesce(secs(1)));
    let (let_go, wait) = mpsc::channel::<()>();
    let (wait, diary) = (Mutex::new(wait), Diary::default());
    let (first, second) = (diary.clone(), diary.clone());
    let contender = LocalContender::new("m")
        .unwrap()
        .on_acquired(move |_| {
            first.write("acquired");
            let _ = wait.lock().unwrap().recv();
        })
        .on_released(move |_| second.write("released"));
    let service = Arc::new(process.contend_service(contender).unwrap());
    service.start().unwrap();
    world
        .until("stuck in on_acquired", || diary.read() == ["acquired"])
        .await;
    let stopping = tokio::spawn({
        let service = Arc::clone(&service);
        async move { service.stop().await }
    });
    world.until("given up", || stopping.is_finished()).await;
    assert_eq!(
        stopping.await.unwrap().unwrap_err().kind(),
        ErrorKind::Unconfirmed
    );

    service.start().unwrap(); // the second life
    world.until("owned again", || service.is_owner()).await;
    drop(let_go);
    world.until("told again", || diary.read().len() > 1).await;
    assert_eq!(
        diary.read(),
        ["acquired", "acquired"],
        "on_released of the first life was dropped"
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_one_tenure_and_the_begin_of_the_next_are_two_states() {
    let world = World::new();
    let (process, faults) = world.process();
    let service = process.contend_service(Listener::new("m")).unwrap();
    service.start().unwrap();
    world.until("owned", || service.is_owner()).await;
    let tenure = service.tenure().unwrap();
    let first = tenure.token().unwrap();
    faults.always(Call::Renew, Fault::Fail);
    tenure.lost().await;
    faults.heal();
    world.until("owned again", || service.is_owner()).await;
    let second = service.tenure().unwrap().token().unwrap();
    world.pass(millis(100)).await;
    let heard = service.contender().heard.lock().unwrap().clone();
    let tokens: Vec<_> = heard
        .iter()
        .map(|s| (s.before.token(), s.after.token()))
        .collect();
    assert_eq!(
        tokens,
        [
            (None, Some(first)),
            (Some(first), None),
            (None, Some(second))
        ]
    );
    assert!(heard.iter().all(MutexState::is_changed));
}

#[tokio::test(start_paused = true)]
async fn a_loser_hears_who_owns() {
    let world = World::new();
    let (one, two) = (world.process().0, world.process().0);
    let owner = one.contend_service(Listener::new("m")).unwrap();
    owner.start().unwrap();
    world.until("owned", || owner.is_owner()).await;
    let loser = two.contend_service(Listener::new("m")).unwrap();
    loser.start().unwrap();
    let id = owner.contender().contender_id().clone();
    world
        .until("heard", || loser.state().after.is_owner(&id))
        .await;
    world.pass(secs(60)).await;
    let heard = loser.contender().heard.lock().unwrap().len();
    assert_eq!(heard, 1, "renewals are no news");
    owner.stop().await.unwrap();
    world.until("taken over", || loser.is_owner()).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_in_trouble_is_tried_again_with_pauses() {
    let world = World::new();
    let (process, faults) = world.process();
    for call in [Call::Acquire, Call::Owner] {
        faults.always(call, Fault::Fail);
    }
    let service = process.contend_service(Listener::new("m")).unwrap();
    service.start().unwrap();
    let watching = process.retrieval_service(Watcher::new("m")).unwrap();
    watching.start().unwrap();
    world.pass(secs(60)).await;
    assert_eq!(service.status(), Status::Running);
    for call in [Call::Acquire, Call::Owner] {
        let tries = faults.calls(call);
        assert!(
            (30..=80).contains(&tries),
            "{tries} tries of {call:?} in a minute"
        );
    }
    faults.heal();
    world.until("owned", || service.is_owner()).await;
}

#[tokio::test(start_paused = true)]
async fn the_initial_delay_comes_before_the_first_bid() {
    let world = World::new();
    let (process, faults) = world.process_with(|builder| builder.initial_delay(secs(7)));
    let service = process.contend_service(Listener::new("m")).unwrap();
    service.start().unwrap();
    world.pass(millis(6_990)).await;
    assert_eq!(faults.calls(Call::Acquire), 0);
    world.pass(millis(20)).await;
    assert_eq!(faults.calls(Call::Acquire), 1);
}

#[test]
fn a_coordinator_needs_a_runtime_and_can_be_given_one() {
    let store = tenure::stores::memory::Memory::new();
    let error = tenure::Coordinator::with_backend(store.clone(), Default::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongState);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let builder = tenure::Coordinator::builder().runtime(runtime.handle().clone());
    let process = builder.with_backend(store).unwrap();
    let (tell, told) = mpsc::channel();
    let contender = LocalContender::new("m").unwrap();
    let contender = contender.on_acquired(move |_| tell.send(()).unwrap());
    let service = process.contend_service(contender).unwrap();
    service.start().unwrap();
    told.recv_timeout(secs(60)).unwrap();
    runtime.block_on(process.close()).unwrap();
}

struct Watcher {
    mutex: MutexName,
    heard: Mutex<Vec<MutexState>>,
}

impl Watcher {
    fn new(mutex: &str) -> Self {
        Self {
            mutex: name(mutex),
            heard: Mutex::default(),
        }
    }
}

impl Retriever for Watcher {
    fn mutex(&self) -> &MutexName {
        &self.mutex
    }
    fn notify_owner(&self, state: &MutexState) {
        self.heard.lock().unwrap().push(state.clone());
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_every_change_and_contends_for_nothing() {
    let world = World::new();
    let (process, _) = world.process();
    let (other, faults) = world.process();
    let watcher = Arc::new(Watcher::new("m"));
    let watching = other.retrieval_service(Arc::clone(&watcher)).unwrap();
    assert_eq!(
        watching.stop().await.unwrap_err().kind(),
        ErrorKind::WrongState
    );
    watching.start().unwrap();
    assert_eq!(watching.start().unwrap_err().kind(), ErrorKind::WrongState);
    let service = process.contend_service(Listener::new("m")).unwrap();
    let id = service.contender().contender_id().clone();
    for round in 1..=2 {
        service.start().unwrap();
        world
            .until("seen", || watching.state().is_acquired(&id))
            .await;
        world.pass(secs(50)).await;
        service.stop().await.unwrap();
        world
            .until("seen", || watching.state().is_released(&id))
            .await;
        world
            .until("told", || watcher.heard.lock().unwrap().len() == 2 * round)
            .await;
    }
    watching.stop().await.unwrap();
    let before = watcher.heard.lock().unwrap().len();
    service.start().unwrap();
    world.pass(secs(10)).await;
    assert_eq!(watcher.heard.lock().unwrap().len(), before, "stopped");
    assert_eq!(faults.calls(Call::Acquire), 0);
    watching.start().unwrap();
    world
        .until("seen again", || watching.state().is_acquired(&id))
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_observer_sees_a_crash_when_the_lease_ends() {
    let world = World::new();
    let (process, _) = world.process();
    let watching = process.retrieval_service(Watcher::new("m")).unwrap();
    watching.start().unwrap();
    let bid = tenure::backend::Bid::new(
        name("m"),
        tenure::model::ContenderId::new("dead").unwrap(),
        world.terms,
    );
    world.store.acquire(&bid).await.unwrap();
    world
        .until("seen", || watching.state().after.is_owner(&bid.contender))
        .await;
    let begin = world.clock.now();
    world
        .until("gone", || watching.state().is_released(&bid.contender))
        .await;
    let took = world.clock.now().since(begin);
    assert!(took <= world.terms.lease() + secs(3), "{took:?}");
}
