//! The local side ends first, and is renewed while it does.

use std::sync::mpsc;

use tenure::service::{LocalContender, Status};
use tenure::{ErrorKind, LossCause};
use tenure_testkit::fault::Call;

use crate::support::{World, secs};

#[tokio::test(start_paused = true)]
async fn the_store_is_told_only_after_on_released_has_returned() {
    let world = World::new();
    let (process, faults) = world.process();
    let (let_go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let contender = LocalContender::new("m").unwrap().on_released(move |_| {
        wait.lock().unwrap().recv().unwrap();
    });
    let service = std::sync::Arc::new(process.contend_service(contender).unwrap());
    service.start().unwrap();
    world.until("owned", || service.is_owner()).await;
    let tenure = service.tenure().unwrap();
    let stopping = tokio::spawn({
        let service = std::sync::Arc::clone(&service);
        async move { service.stop().await }
    });
    let renewals = faults.calls(Call::Renew);
    // Longer than the lease, shorter than what quiescing may take.
    world.pass(secs(25)).await;
    assert_eq!(service.status(), Status::Stopping);
    assert!(
        faults.calls(Call::Renew) > renewals,
        "renewed while the local side ends"
    );
    assert!(
        !tenure.is_lost(),
        "it may finish what it does under its token"
    );
    assert_eq!(faults.calls(Call::Release), 0);
    let_go.send(()).unwrap();
    world.until("stopped", || stopping.is_finished()).await;
    stopping.await.unwrap().unwrap();
    assert_eq!(tenure.token().unwrap_err().cause, LossCause::Released);
    assert_eq!(faults.calls(Call::Release), 1);
    assert!(world.owner("m").await.owner_id().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stuck_callback_keeps_the_store_from_being_told() {
    let world = World::new();
    let (process, faults) = world.process_with(|builder| builder.quiesce(secs(5)));
    let (let_go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let contender = LocalContender::new("m").unwrap().on_acquired(move |_| {
        let _ = wait.lock().unwrap().recv();
    });
    let service = std::sync::Arc::new(process.contend_service(contender).unwrap());
    service.start().unwrap();
    world.until("owned", || service.is_owner()).await;
    let tenure = service.tenure().unwrap();
    let stopping = tokio::spawn({
        let service = std::sync::Arc::clone(&service);
        async move { service.stop().await }
    });
    world.until("given up", || stopping.is_finished()).await;
    let error = stopping.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unconfirmed);
    assert!(error.to_string().contains("still runs"), "{error}");
    assert!(tenure.is_lost());
    assert_eq!(
        faults.calls(Call::Release),
        0,
        "it may still run: the lease runs out"
    );
    assert!(world.owner("m").await.owner_id().is_some());
    world.pass(secs(17)).await;
    assert!(world.owner("m").await.owner_id().is_none());
    drop(let_go);
}

#[tokio::test(start_paused = true)]
async fn after_a_loss_nothing_is_released_or_bid_for_while_the_old_term_runs() {
    let world = World::new();
    let (process, faults) = world.process();
    let (let_go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let contender = LocalContender::new("m").unwrap().on_released(move |_| {
        let _ = wait.lock().unwrap().recv();
    });
    let service = process.contend_service(contender).unwrap();
    service.start().unwrap();
    world.until("owned", || service.is_owner()).await;
    faults.always(Call::Renew, tenure_testkit::fault::Fault::Fail);
    world.until("lost", || !service.is_owner()).await;
    faults.heal();
    let bids = faults.calls(Call::Acquire);
    world.pass(secs(30)).await;
    assert_eq!(
        faults.calls(Call::Acquire),
        bids,
        "the old term has not ended locally"
    );
    drop(let_go);
    world.until("owned again", || service.is_owner()).await;
}
