//! The ends of guards and offices that do not go by the book.

use std::time::Duration;

use tenure::backend::Page;
use tenure::lock::LockOptions;
use tenure::{CampaignEvent, ErrorKind, Leadership, LossCause};
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{Call, Fault};

use super::support::World;

const SOON: Duration = Duration::from_secs(1);

async fn elected(campaign: &mut tenure::Campaign) -> Leadership {
    loop {
        if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
            return office;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_lost_does_not_bar_the_others_of_its_process() {
    let world = World::new();
    let coordinator = world.coordinator();
    let options = LockOptions::default().with_max_hold(Duration::from_secs(5));
    let lock = coordinator.lock_with("m", options).unwrap();
    let hung = lock.acquire().await.unwrap();
    // As long as a stranger would have to wait: what it holds, and one lease.
    let next = lock.acquire_within(Duration::from_secs(5 + 17)).await;
    let next = next.unwrap().expect("a lost guard bars nobody");
    assert!(hung.is_lost() && !next.is_lost());
    drop(hung);
    tokio::time::sleep(SOON).await;
    assert!(!next.is_lost(), "the old guard's end is not the new one's");
    next.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_lost_and_in_scope_does_not_keep_a_close_from_freeing() {
    let world = World::new();
    let coordinator = world.coordinator();
    let options = LockOptions::default().with_max_hold(Duration::from_secs(1));
    let hung = coordinator.lock_with("m", options).unwrap();
    let hung = hung.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1) + SOON).await;
    assert!(hung.is_lost());
    let begin = world.clock.now();
    let _ = coordinator.close().await;
    let other = world.coordinator().lock("m").unwrap();
    let next = other.acquire().await.unwrap();
    assert!(world.clock.now().since(begin) < SOON, "the rest of a lease");
    drop((hung, next));
}

#[tokio::test]
async fn a_guard_that_held_too_long_is_not_handed_on() {
    let coordinator = tenure::Coordinator::connect("memory:").await.unwrap();
    let short = LockOptions::default().with_max_hold(Duration::from_millis(20));
    let guard = coordinator.lock_with("m", short).unwrap();
    let guard = guard.acquire().await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    let mut heir = Box::pin(lock.acquire());
    assert!(poll_once(heir.as_mut()).is_none());
    // The only thread is blocked: the engine cannot have seen the limit.
    std::thread::sleep(Duration::from_millis(30));
    assert!(guard.is_lost());
    drop(guard);
    let heir = heir.await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(heir.token().err(), None, "the heir lost what it was given");
}

/// Polls once, without another task getting to run.
fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match future.poll(&mut cx) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_guards_that_are_lost() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    faults.always(Call::Renew, Fault::Fail);
    assert_eq!(guard.lost().await.cause, LossCause::Deadline);
    let begin = world.clock.now();
    coordinator.close().await.unwrap();
    assert!(world.clock.now().since(begin) < SOON);
}

#[tokio::test(start_paused = true)]
async fn closing_drops_the_work_of_a_leader_and_resigns() {
    let world = World::new();
    let coordinator = world.coordinator();
    let elector = coordinator.elector("m").unwrap();
    let leading = tokio::spawn(async move { elector.lead(|_| std::future::pending::<()>()).await });
    tokio::time::sleep(SOON).await;
    let begin = world.clock.now();
    coordinator.close().await.unwrap();
    assert!(world.clock.now().since(begin) < SOON, "it waited for work");
    let error = leading.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    let listing = world.store.list(&Page::first(10)).await.unwrap();
    assert!(listing.entries.is_empty(), "{:?}", listing.entries);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_the_last_tenure_does_not_end_this_one() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let first = elected(&mut campaign).await;
    let token = first.tenure().token().unwrap();
    // The first renewal is on its way, slowly, when the office is resigned.
    faults.always(Call::Renew, Fault::DelayBefore(Duration::from_millis(500)));
    while faults.calls(Call::Renew) == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    first.resign().await.unwrap();
    let second = elected(&mut campaign).await;
    assert!(second.tenure().token().unwrap() > token);
    tokio::time::sleep(SOON).await;
    assert_eq!(second.tenure().token().err(), None);
}

#[tokio::test(start_paused = true)]
async fn one_who_resigns_and_is_elected_again_has_two_changes_of_state() {
    let world = World::new();
    let mut campaign = world
        .coordinator()
        .elector("m")
        .unwrap()
        .campaign()
        .unwrap();
    let me = campaign.contender().clone();
    let resigned = elected(&mut campaign).await.resign();
    resigned.await.unwrap();
    let mut states = Vec::new();
    let _second = loop {
        match campaign.next().await.unwrap() {
            CampaignEvent::Elected(office) => break office,
            CampaignEvent::Observed(state) => states.push(state),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states[0].is_released(&me) && states[1].is_acquired(&me));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_free_for_its_own_process_when_release_returns() {
    let coordinator = tenure::Coordinator::connect("memory:").await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    for round in 0..5_000 {
        let guard = lock.try_acquire().await.unwrap();
        let guard = guard.unwrap_or_else(|| panic!("barred in round {round}"));
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_limit_that_passes_in_the_moment_of_a_hand_over_spares_the_heir() {
    let coordinator = tenure::Coordinator::connect("memory:").await.unwrap();
    let short = LockOptions::default().with_max_hold(Duration::from_millis(1));
    let (short, lock) = (
        coordinator.lock_with("m", short).unwrap(),
        coordinator.lock("m").unwrap(),
    );
    for round in 0..1_000_u64 {
        let guard = short.acquire().await.unwrap();
        let mut heir = Box::pin(lock.acquire());
        assert!(poll_once(heir.as_mut()).is_none());
        // Another thread looks all the time, so that the limit is seen as soon
        // as it passes: also between any two steps of the hand-over.
        let tenure = guard.tenure().clone();
        let looker = std::thread::spawn(move || while !tenure.is_lost() {});
        let near = Duration::from_nanos(20 * (round % 200));
        while guard.remaining() > near {
            std::hint::spin_loop();
        }
        drop(guard);
        looker.join().unwrap();
        let heir = heir.await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(heir.token().err(), None, "in round {round}");
        heir.release().await.unwrap();
    }
}

#[test]
fn a_lock_whose_runtime_has_ended_is_closed() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    let home = runtime().unwrap();
    let lock = home.block_on(async {
        let coordinator = tenure::Coordinator::connect("memory:").await.unwrap();
        coordinator.lock("m").unwrap()
    });
    drop(home);
    runtime().unwrap().block_on(async {
        let tried = lock.try_acquire().await.unwrap_err();
        assert_eq!(tried.kind(), ErrorKind::Closed, "{tried}");
        let waited = lock.acquire_within(SOON).await.unwrap_err();
        assert_eq!(waited.kind(), ErrorKind::Closed);
        let waited = lock.acquire().await.unwrap_err();
        assert_eq!(waited.kind(), ErrorKind::Closed);
    });
}
