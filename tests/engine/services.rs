//! The life of a service.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::clock::Clock;
use tenure::service::{LocalContender, Status};
use tenure::stores::memory::Memory;
use tenure::{Coordinator, ErrorKind};

#[tokio::test(start_paused = true)]
async fn a_service_acquires_and_releases() {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    let coordinator = Coordinator::builder()
        .clock(clock.clone())
        .with_backend(store.clone())
        .unwrap();
    let (acquired, released) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (a, r) = (acquired.clone(), released.clone());
    let contender = LocalContender::new("m")
        .unwrap()
        .on_acquired(move |_| {
            a.fetch_add(1, Ordering::SeqCst);
        })
        .on_released(move |_| {
            r.fetch_add(1, Ordering::SeqCst);
        });
    let service = coordinator.contend_service(contender).unwrap();
    assert_eq!(
        service.stop().await.unwrap_err().kind(),
        ErrorKind::WrongState
    );
    for round in 1..=3 {
        service.start().unwrap();
        assert_eq!(service.start().unwrap_err().kind(), ErrorKind::WrongState);
        while acquired.load(Ordering::SeqCst) < round {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert!(service.is_owner());
        service.stop().await.unwrap();
        assert_eq!(service.status(), Status::Initial);
        assert_eq!(released.load(Ordering::SeqCst), round);
    }
    coordinator.close().await.unwrap();
}
