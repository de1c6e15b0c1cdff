//! A slow or panicking callback delays only itself. All on one async worker.

use std::sync::mpsc;

use tenure::service::LocalContender;

use crate::support::{Diary, World, secs};

#[tokio::test(start_paused = true)]
async fn one_that_blocks_for_minutes_delays_neither_renewal_nor_others() {
    let world = World::new();
    let (process, _) = world.process();
    let (let_go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let stuck = LocalContender::new("stuck").unwrap().on_acquired(move |_| {
        let _ = wait.lock().unwrap().recv();
    });
    let stuck = process.contend_service(stuck).unwrap();
    stuck.start().unwrap();
    world.until("the stuck one owns", || stuck.is_owner()).await;
    let tenure = stuck.tenure().unwrap();

    let diary = Diary::default();
    let other = process.contend_service(diary.contender("other")).unwrap();
    other.start().unwrap();
    world
        .until("the other is told", || diary.read() == ["acquired"])
        .await;
    world.pass(secs(300)).await;
    assert!(!tenure.is_lost(), "renewed all the time");
    let stopping = tokio::spawn(async move { other.stop().await });
    world
        .until("the other stops", || stopping.is_finished())
        .await;
    stopping.await.unwrap().unwrap();
    assert_eq!(diary.read(), ["acquired", "released"]);
    drop(let_go);
}

#[tokio::test(start_paused = true)]
async fn one_that_panics_is_survived() {
    let world = World::new();
    let (process, _) = world.process();
    let diary = Diary::default();
    let written = diary.clone();
    let contender = LocalContender::new("m")
        .unwrap()
        .on_acquired(|_| panic!("a callback of the test's own"))
        .on_released(move |_| {
            written.write("released");
            panic!("another one");
        });
    let service = process.contend_service(contender).unwrap();
    for round in 1..=2 {
        service.start().unwrap();
        world.until("owned", || service.is_owner()).await;
        world.pass(secs(60)).await;
        assert!(service.is_owner());
        service.stop().await.unwrap();
        assert_eq!(diary.read().len(), round);
    }
    assert!(world.owner("m").await.owner_id().is_none());
}
