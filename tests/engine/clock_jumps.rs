//! Machines that stand still and are set right, and wall clocks that are set.

use std::time::Duration;

use tenure::clock::VirtualHost;
use tenure::{CampaignEvent, Coordinator, LockGuard, LossCause};

use tenure_testkit::fault::{Call, Fault};

use super::support::{World, millis, secs};

/// A process on a machine of its own.
fn process(world: &World, host: &VirtualHost) -> Coordinator {
    world.process_with(|builder| builder.clock(host.clock())).0
}

async fn guard(world: &World, host: &VirtualHost) -> LockGuard {
    let lock = process(world, host).lock("m").unwrap();
    lock.acquire().await.unwrap()
}

/// The machine stands still; the world does not.
async fn freeze(host: &VirtualHost, length: Duration) {
    host.rewind(length);
    tokio::time::advance(length).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_stood_still_has_lost_once_its_wall_clock_is_right() {
    let (world, host) = (World::new(), VirtualHost::new());
    let ours = guard(&world, &host).await;
    let watching = ours.tenure().clone();
    let watching = tokio::spawn(async move { watching.lost().await });
    tokio::time::sleep(secs(1)).await;
    freeze(&host, secs(60)).await;
    let (other, _) = world.process();
    let theirs = other.lock("m").unwrap().acquire().await.unwrap();
    // What no clock of the machine can tell, it cannot know.
    assert_eq!(ours.token().err(), None);
    host.set_wall_ahead(secs(60));
    assert_eq!(ours.token().unwrap_err().cause, LossCause::ClockJump);
    assert_eq!(theirs.token().err(), None);
    let begin = world.clock.now();
    assert_eq!(watching.await.unwrap().cause, LossCause::ClockJump);
    assert_eq!(world.clock.now(), begin, "whoever waits is told at once");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_is_told_without_anybody_looking() {
    let (world, host) = (World::new(), VirtualHost::new());
    let coordinator = process(&world, &host);
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = loop {
        if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
            break office;
        }
    };
    tokio::time::sleep(secs(1)).await;
    freeze(&host, secs(60)).await;
    host.set_wall_ahead(secs(60));
    let begin = world.clock.now();
    let lost = loop {
        match campaign.next().await.unwrap() {
            CampaignEvent::Deposed(lost) => break lost,
            CampaignEvent::Observed(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(lost.cause, LossCause::ClockJump);
    assert_eq!(world.clock.now(), begin);
    drop(office);
    let again = loop {
        if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
            break office;
        }
    };
    assert_eq!(again.tenure().token().err(), None, "elected again");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_neither_extends_nor_hides_anything() {
    let (world, host) = (World::new(), VirtualHost::new());
    let ours = guard(&world, &host).await;
    tokio::time::sleep(secs(1)).await;
    let before = ours.remaining();
    host.set_wall_back(secs(60));
    assert_eq!(ours.remaining(), before);
    // As long as it was set back: the wall clock is where it was.
    freeze(&host, secs(60)).await;
    host.set_wall_ahead(secs(60));
    assert_eq!(ours.token().unwrap_err().cause, LossCause::ClockJump);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_goes_back_itself_is_not_believed() {
    let (world, host) = (World::new(), VirtualHost::new());
    let ours = guard(&world, &host).await;
    host.rewind(secs(3600));
    assert_eq!(ours.token().unwrap_err().cause, LossCause::ClockJump);
}

#[tokio::test(start_paused = true)]
async fn steps_within_the_margin_and_backwards_cost_nothing() {
    let (world, host) = (World::new(), VirtualHost::new());
    let ours = guard(&world, &host).await;
    // A leap second is a step back of one.
    for _ in 0..20 {
        host.set_wall_ahead(world.terms.margin() / 2);
        tokio::time::sleep(world.terms.ttl() * 2).await;
        host.set_wall_back(secs(1));
        tokio::time::sleep(world.terms.ttl() * 2).await;
        assert_eq!(ours.token().err(), None);
    }
    // A larger step forward may be a pause, and is taken for one.
    host.set_wall_ahead(world.terms.margin() + millis(1));
    assert_eq!(ours.token().unwrap_err().cause, LossCause::ClockJump);
}

#[tokio::test(start_paused = true)]
async fn where_the_wall_clock_says_nothing_it_can_be_ignored() {
    let (world, host) = (World::new(), VirtualHost::new());
    let (process, _) =
        world.process_with(|builder| builder.clock(host.clock()).watch_wall_clock(false));
    let ours = process.lock("m").unwrap().acquire().await.unwrap();
    host.set_wall_ahead(secs(3600));
    tokio::time::sleep(world.terms.lease() * 2).await;
    assert_eq!(ours.token().err(), None);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_gains_time_ends_a_tenure_early_and_is_no_jump() {
    let (world, host) = (World::new(), VirtualHost::new());
    let ours = guard(&world, &host).await;
    let before = ours.tenure().remaining();
    host.advance(millis(20));
    assert_eq!(ours.token().err(), None);
    assert_eq!(before - ours.tenure().remaining(), millis(20));
    host.advance(before);
    assert_eq!(ours.token().unwrap_err().cause, LossCause::Deadline);
}

#[tokio::test(start_paused = true)]
async fn what_was_won_while_the_machine_stood_still_is_given_back() {
    let (world, host) = (World::new(), VirtualHost::new());
    let (coordinator, faults) = world.process_with(|builder| builder.clock(host.clock()));
    // Granted at once, and answered when all is over.
    faults.next(Call::Acquire, Fault::HangAfter);
    let lock = coordinator.lock("m").unwrap();
    let asking = tokio::spawn(async move { lock.acquire().await });
    world
        .until("asked", || faults.calls(Call::Acquire) > 0)
        .await;
    tokio::time::sleep(millis(1)).await;
    freeze(&host, secs(60)).await;
    let (other, _) = world.process();
    let theirs = other.lock("m").unwrap().acquire().await.unwrap();
    host.set_wall_ahead(secs(60));
    faults.heal();
    tokio::time::sleep(secs(1)).await;
    assert!(!asking.is_finished(), "another owns: {asking:?}");
    assert_eq!(theirs.token().err(), None);
    theirs.release().await.unwrap();
    asking.await.unwrap().unwrap().release().await.unwrap();
}
