//! A machine so busy that a thread stands still where it should not.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::backend::{Answer, Backend, Bid, Held, Hints, Interest, Profile};
use tenure::model::{LeaseTerms, MutexName};
use tenure::stores::memory::Memory;
use tenure::{Coordinator, ErrorKind, Result};

/// Far longer than a call may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store that does not answer the first request, and takes long to send it.
#[derive(Debug)]
struct Slow {
    inner: Memory,
    has_begun: AtomicBool,
}

impl Backend for Slow {
    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        if !self.has_begun.swap(true, Ordering::Relaxed) {
            // The thread was not let run: longer than a caller's own future is waited for.
            std::thread::sleep(Duration::from_millis(80));
            pending::<()>().await;
        }
        self.inner.acquire(bid).await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        self.inner.renew(held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.inner.release(held).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.inner.leave(bid).await
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.inner.owner(name).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        self.inner.changes(interest)
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

#[tokio::test]
async fn a_call_has_its_limit_however_long_it_took_to_send() {
    let slow = Slow {
        inner: Memory::new(),
        has_begun: AtomicBool::new(false),
    };
    let terms = LeaseTerms::new(Duration::from_secs(1), Duration::from_secs(1)).unwrap();
    let coordinator = Coordinator::builder().terms(terms).with_backend(slow);
    let lock = coordinator.unwrap().lock("m").unwrap();
    let answer = tokio::time::timeout(PATIENCE, lock.try_acquire()).await;
    let error = answer
        .expect("it is not waited for without end")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(lock.try_acquire().await.unwrap().is_some());
}
