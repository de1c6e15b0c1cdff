//! A contender: callbacks instead of guards, for code that is not async.
//!
//! ```text
//! cargo run --example contender [URL] # or TENURE_URL; otherwise memory:demo
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use tenure::model::{ContenderId, ContenderIdGenerator, Host, MutexName, MutexState};
use tenure::service::Contender;
use tenure::{Coordinator, Result};

/// Settles orders while it owns the mutex.
struct Settlement {
    mutex: MutexName,
    id: ContenderId,
    is_settling: AtomicBool,
    news: mpsc::Sender<&'static str>,
}

impl Contender for Settlement {
    fn mutex(&self) -> &MutexName {
        &self.mutex
    }

    fn contender_id(&self) -> &ContenderId {
        &self.id
    }

    // Both run on a thread where they may block, one at a time.
    fn on_acquired(&self, state: &MutexState) {
        println!("acquired by {}: settling", self.id);
        assert!(state.is_acquired(&self.id));
        self.is_settling.store(true, Ordering::SeqCst);
        let _ = self.news.send("acquired");
    }

    fn on_released(&self, _: &MutexState) {
        // Another gets the mutex after this has returned: end everything here.
        self.is_settling.store(false, Ordering::SeqCst);
        println!("released by {}: no more settling", self.id);
        let _ = self.news.send("released");
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let coordinator = connect().await?;
    let (news, mut told) = mpsc::channel();
    let settlement = Arc::new(Settlement {
        mutex: MutexName::new("demo-contender")?,
        id: Host::new().generate()?,
        is_settling: AtomicBool::new(false),
        news,
    });

    let service = coordinator.contend_service(Arc::clone(&settlement))?;
    for _ in 0..2 {
        service.start()?; // returns at once; the callbacks tell the rest
        told = next(told, "acquired").await;
        assert!(service.is_owner() && settlement.is_settling.load(Ordering::SeqCst));
        println!("running as {:?}", service.tenure());

        service.stop().await?; // on_released, then the store is told
        told = next(told, "released").await;
        assert!(!settlement.is_settling.load(Ordering::SeqCst));
    }
    coordinator.close().await
}

/// Waits for a callback without blocking an async worker.
async fn next(told: mpsc::Receiver<&'static str>, what: &str) -> mpsc::Receiver<&'static str> {
    let wait = move || (told.recv().expect("the contender lives"), told);
    let (news, told) = tokio::task::spawn_blocking(wait).await.expect("no panic");
    assert_eq!(news, what);
    told
}

async fn connect() -> Result<Coordinator> {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("TENURE_URL").ok());
    Coordinator::connect(url.as_deref().unwrap_or("memory:demo")).await
}
