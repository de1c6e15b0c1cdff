//! What was won and not picked up: futures that live and are not polled.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure::lock::{HandOver, Holder, LockOptions};
use tenure::{CampaignEvent, Coordinator, LockGuard, Result};
use tenure_testkit::fault::{Call, Fault};

use super::support::{World, terms};

const SOON: Duration = Duration::from_millis(100);

/// Polls once, and leaves it at that: what a `select!` loop does to a future
/// that it keeps and does not look at again.
fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A process whose store has applied a bid some time before it answers.
fn distant(world: &World) -> Coordinator {
    let (coordinator, faults) = world.with_faults();
    faults.always(Call::Acquire, Fault::DelayAfter(Duration::from_millis(1)));
    coordinator
}

/// How long another process waits for "m".
async fn wait_of_another(world: &World) -> Duration {
    let begin = world.clock.now();
    let lock = world.coordinator().lock("m").unwrap();
    let guard = lock.acquire_within(Duration::from_secs(3600)).await;
    let guard = guard.unwrap().expect("the fleet waits for ever");
    guard.release().await.unwrap();
    world.clock.now().since(begin)
}

async fn is_given_back<T>(world: &World, mut future: Pin<Box<dyn Future<Output = Result<T>>>>) {
    assert!(poll_once(future.as_mut()).is_pending());
    tokio::time::sleep(SOON).await;
    let waited = wait_of_another(world).await;
    assert!(waited <= terms().ttl(), "after its first ttl: {waited:?}");
    assert!(waited >= terms().ttl() - SOON * 2, "not before: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_won_lock_that_nobody_picks_up_goes_back_when_its_first_ttl_ends() {
    let world = World::new();
    let lock = distant(&world).lock("m").unwrap();
    let acquiring = lock.clone();
    let acquire = Box::pin(async move { acquiring.acquire().await });
    is_given_back(&world, acquire).await;
    let acquiring = lock.clone();
    let within = Duration::from_secs(3600);
    let acquire = Box::pin(async move { acquiring.acquire_within(within).await });
    is_given_back(&world, acquire).await;
    let acquire = Box::pin(async move { lock.try_acquire().await });
    is_given_back(&world, acquire).await;
}

#[tokio::test(start_paused = true)]
async fn a_reentrant_lock_that_nobody_picks_up_goes_back_too() {
    let world = World::new();
    let lock = distant(&world).reentrant_lock("m").unwrap();
    let lock = lock.held_by(&Holder::new("h"));
    is_given_back(&world, Box::pin(async move { lock.acquire().await })).await;
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_polled_again_goes_on_contending() {
    let world = World::new();
    let lock = distant(&world).lock("m").unwrap();
    let mut acquire = Box::pin(lock.acquire());
    assert!(poll_once(acquire.as_mut()).is_pending());
    tokio::time::sleep(SOON).await;
    let other = world.coordinator().lock("m").unwrap();
    let theirs = other.acquire().await.unwrap();
    assert!(poll_once(acquire.as_mut()).is_pending(), "it is another's");
    let token = theirs.token().unwrap();
    theirs.release().await.unwrap();
    let ours = acquire.await.unwrap();
    assert!(ours.token().unwrap() > token);
    tokio::time::sleep(terms().lease() * 3).await;
    assert_eq!(ours.token().err(), None, "what is picked up is renewed");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_polled_again_is_made_again() {
    let world = World::new();
    let lock = distant(&world).lock("m").unwrap();
    let mut attempt = Box::pin(lock.try_acquire());
    assert!(poll_once(attempt.as_mut()).is_pending());
    tokio::time::sleep(terms().lease() * 2).await;
    let guard = attempt.await.unwrap().expect("nobody else wants it");
    assert_eq!(guard.token().err(), None);
}

/// The store has answered the first bid; it need not answer the second.
#[tokio::test(start_paused = true)]
async fn a_wait_ends_in_time_though_what_it_won_was_not_picked_up() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    faults.always(Call::Acquire, Fault::DelayAfter(Duration::from_millis(1)));
    let lock = coordinator.lock("m").unwrap();
    let (begin, wait) = (world.clock.now(), terms().ttl() * 2);
    let mut acquire = Box::pin(lock.acquire_within(wait));
    assert!(poll_once(acquire.as_mut()).is_pending());
    tokio::time::sleep(wait - SOON).await;
    assert!(lock.owner().await.unwrap().is_none(), "it went back");
    faults.always(Call::Acquire, Fault::Hang);
    let won = acquire.await.unwrap();
    assert!(won.is_none(), "{won:?}");
    assert_eq!(world.clock.now().since(begin), wait);
}

/// The wait is over before the first answer, which is waited for; and what it
/// won is not picked up.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_ends_though_what_it_won_was_not_picked_up() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    faults.always(Call::Acquire, Fault::DelayAfter(SOON));
    let lock = coordinator.lock("m").unwrap();
    let wait = SOON / 10;
    let mut acquire = Box::pin(lock.acquire_within(wait));
    assert!(poll_once(acquire.as_mut()).is_pending());
    tokio::time::sleep(wait * 2).await;
    assert!(poll_once(acquire.as_mut()).is_pending(), "no answer yet");
    tokio::time::sleep(terms().ttl() * 2).await;
    assert!(lock.owner().await.unwrap().is_none(), "it went back");
    faults.always(Call::Acquire, Fault::Hang);
    let begin = world.clock.now();
    let won = acquire.await.unwrap();
    assert!(won.is_none(), "{won:?}");
    assert_eq!(world.clock.now(), begin, "at once");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_picked_up_in_time_is_kept() {
    let world = World::new();
    let lock = distant(&world).lock("m").unwrap();
    let mut acquire = Box::pin(lock.acquire());
    assert!(poll_once(acquire.as_mut()).is_pending());
    tokio::time::sleep(terms().ttl() - SOON).await;
    let guard = acquire.await.unwrap();
    let token = guard.token().unwrap();
    tokio::time::sleep(terms().lease() * 3).await;
    assert_eq!(guard.token(), Ok(token));
}

/// A guard and an heir in the same line that is never polled again.
async fn bequeathed(coordinator: &Coordinator) -> Pin<Box<dyn Future<Output = Result<LockGuard>>>> {
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire().await.unwrap();
    let mut heir = Box::pin(async move { lock.acquire().await });
    assert!(poll_once(heir.as_mut()).is_pending());
    guard.release().await.unwrap();
    heir
}

#[tokio::test(start_paused = true)]
async fn a_grant_left_to_an_heir_that_never_comes_goes_back() {
    let world = World::new();
    let heir = bequeathed(&world.coordinator()).await;
    let waited = wait_of_another(&world).await;
    assert!(waited <= terms().ttl(), "after its ttl: {waited:?}");
    let guard = heir.await.unwrap();
    assert_eq!(guard.token().err(), None, "and the heir contends again");
}

#[tokio::test(start_paused = true)]
async fn a_grant_left_just_before_its_renewal_waits_a_little_for_its_heir() {
    let world = World::new();
    let coordinator = world.coordinator();
    let options = LockOptions::default()
        .with_hand_over(HandOver::new(10, Duration::from_secs(3600)).unwrap());
    let lock = coordinator.lock_with("m", options).unwrap();
    let guard = lock.acquire().await.unwrap();
    let token = guard.token().unwrap();
    let mut heir = Box::pin(lock.acquire());
    assert!(poll_once(heir.as_mut()).is_pending());
    tokio::time::sleep(terms().ttl() - Duration::from_millis(1)).await;
    guard.release().await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let heir = heir.await.unwrap();
    assert_eq!(heir.token().unwrap().store(), token.store(), "handed on");
    tokio::time::sleep(terms().lease() * 2).await;
    assert_eq!(heir.token().err(), None);
}

#[tokio::test(start_paused = true)]
async fn an_unread_election_is_given_back_and_not_stood_for_again() {
    let world = World::new();
    let mut campaign = world
        .coordinator()
        .elector("m")
        .unwrap()
        .campaign()
        .unwrap();
    tokio::time::sleep(SOON).await;
    let other = world.coordinator().lock("m").unwrap();
    let guard = other.acquire_within(terms().ttl()).await.unwrap();
    let guard = guard.expect("nobody reads the campaign");
    guard.release().await.unwrap();
    // It is not read: so it does not stand.
    tokio::time::sleep(terms().lease() * 3).await;
    let again = other.try_acquire().await.unwrap().expect("it is free");
    again.release().await.unwrap();
    let office = loop {
        match campaign.next().await.unwrap() {
            CampaignEvent::Elected(office) => break office,
            CampaignEvent::Deposed(lost) => panic!("of an office that nobody had: {lost}"),
            _ => {}
        }
    };
    assert_eq!(office.tenure().token().err(), None, "a live one");
    tokio::time::sleep(terms().lease() * 3).await;
    assert_eq!(office.tenure().token().err(), None, "and it is renewed");
}

#[tokio::test(start_paused = true)]
async fn leading_that_is_not_polled_does_not_lead() {
    let world = World::new();
    let elector = world.coordinator().elector("m").unwrap();
    let mut leading = Box::pin(elector.lead(|_| std::future::pending::<()>()));
    assert!(poll_once(leading.as_mut()).is_pending());
    tokio::time::sleep(SOON).await;
    assert!(wait_of_another(&world).await <= terms().ttl());
    let mut leading = Box::pin(tokio::time::timeout(SOON, leading));
    assert!(
        leading.as_mut().await.is_err(),
        "it leads again, and works on"
    );
    drop(leading);
    assert!(wait_of_another(&world).await < SOON, "dropped, it resigns");
}
