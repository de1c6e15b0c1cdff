//! Tenures that are asked to end.

use std::time::Duration;

use tenure::schedule::ScheduleConfig;
use tenure::{Campaign, CampaignEvent, ErrorKind, Leadership, LossCause};
use tenure_testkit::fault::{Call, Fault};

use super::support::World;

const SOON: Duration = Duration::from_millis(100);

async fn elected(campaign: &mut Campaign) -> Leadership {
    loop {
        if let CampaignEvent::Elected(office) = campaign.next().await.unwrap() {
            return office;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_work_of_a_campaign_ends_when_its_coordinator_closes() {
    let world = World::new();
    let coordinator = world.coordinator();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = elected(&mut campaign).await;
    let worker = tokio::spawn(async move {
        let tenure = office.tenure().clone();
        let end = tenure.protect(std::future::pending::<()>()).await;
        drop(office);
        end
    });
    let mut next = world
        .coordinator()
        .elector("m")
        .unwrap()
        .campaign()
        .unwrap();
    tokio::time::sleep(SOON).await;
    let begin = world.clock.now();
    let closing = coordinator.close();
    let taking_over = elected(&mut next);
    let (closed, _heir) = tokio::join!(closing, taking_over);
    closed.unwrap();
    let took = world.clock.now().since(begin);
    assert!(took < SOON, "the hand-over took {took:?}");
    worker.await.unwrap().unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn an_ending_tenure_says_so_and_is_valid_until_it_is_let_go() {
    let world = World::new();
    let coordinator = world.coordinator();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = elected(&mut campaign).await;
    assert!(!office.tenure().is_ending());
    let closing = tokio::spawn(async move { coordinator.close().await });
    office.tenure().ending().await;
    assert!(office.tenure().is_ending() && !office.tenure().is_lost());
    // Longer than a lease, shorter than a quiesce: it is renewed meanwhile.
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(office.tenure().token().err(), None);
    assert!(!closing.is_finished(), "it waits");
    let event = campaign.next().await.unwrap();
    assert!(matches!(event, CampaignEvent::Deposed(_)), "{event:?}");
    let begin = world.clock.now();
    drop(office);
    closing.await.unwrap().unwrap();
    assert_eq!(world.clock.now(), begin, "and not longer");
}

#[tokio::test(start_paused = true)]
async fn close_says_what_it_could_not_end() {
    let world = World::new();
    let coordinator = world.coordinator();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = elected(&mut campaign).await;
    let error = coordinator.close().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unconfirmed);
    let text = error.to_string();
    assert!(text.contains("m (its work still runs)"), "{text}");
    assert!(office.tenure().is_lost(), "and it is over");
    let again = coordinator.close().await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Unconfirmed, "it stays so");
}

#[tokio::test(start_paused = true)]
async fn close_says_what_the_store_has_not_confirmed() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let nested = coordinator.reentrant_lock("n").unwrap();
    let holder = tenure::Holder::new("h");
    let nested = nested.held_by(&holder).acquire().await.unwrap();
    faults.always(Call::Release, Fault::Fail);
    let error = coordinator.close().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unconfirmed);
    let text = error.to_string();
    for name in ["m (the store has not", "n (the store has not"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(guard.is_lost() && nested.is_lost());
}

#[tokio::test(start_paused = true)]
async fn an_office_outlives_its_campaign_for_as_long_as_its_holder_likes() {
    let world = World::new();
    let coordinator = world.coordinator();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    let office = elected(&mut campaign).await;
    drop(campaign);
    // Longer than a quiesce.
    let work = tokio::time::sleep(Duration::from_secs(120));
    office.tenure().protect(work).await.unwrap();
    assert!(!office.tenure().is_ending());
    let closing = tokio::spawn(async move { coordinator.close().await });
    office.tenure().ending().await;
    drop(office);
    closing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_an_election_that_nobody_read() {
    let world = World::new();
    let coordinator = world.coordinator();
    let mut campaign = coordinator.elector("m").unwrap().campaign().unwrap();
    tokio::time::sleep(SOON).await;
    let begin = world.clock.now();
    coordinator.close().await.unwrap();
    assert_eq!(world.clock.now(), begin);
    while let Some(event) = campaign.next().await {
        assert!(!matches!(event, CampaignEvent::Elected(_)), "{event:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_service_tells_the_work_it_started() {
    let world = World::new();
    let coordinator = world.coordinator();
    let contender = tenure::service::LocalContender::new("m").unwrap();
    let service = coordinator.contend_service(contender).unwrap();
    service.start().unwrap();
    let tenure = loop {
        if let Some(tenure) = service.tenure() {
            break tenure;
        }
        tokio::task::yield_now().await;
    };
    let work = tokio::spawn(async move { tenure.protect(std::future::pending::<()>()).await });
    service.stop().await.unwrap();
    let lost = work.await.unwrap().unwrap_err();
    assert_eq!(lost.cause, LossCause::Released);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_schedule_tells_the_run_that_it_waits_for() {
    let world = World::new();
    let coordinator = world.coordinator();
    let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_secs(60)).unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let scheduler = coordinator.scheduler("m", config).unwrap();
    let handle = scheduler.start(move |tick| {
        let tell = tell.clone();
        async move {
            let _ = tell.send("begun");
            tick.tenure().ending().await;
            let is_ours = tick.tenure().token().is_ok();
            let _ = tell.send(if is_ours { "asked" } else { "lost" });
        }
    });
    let handle = handle.unwrap();
    assert_eq!(told.recv().await, Some("begun"));
    let begin = world.clock.now();
    handle.stop().await.unwrap();
    assert!(world.clock.now().since(begin) < SOON);
    assert_eq!(told.recv().await, Some("asked"));
}
