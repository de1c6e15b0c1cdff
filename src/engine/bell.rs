//! [`Bell`]: wakes those who listen, and costs next to nothing while none does.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Rung by who has changed something, after the change; who listens looks again.
///
/// What is changed must be written and read in one order for all threads (`SeqCst`):
/// either who rings sees the one who listens, or that one sees the change.
#[derive(Debug, Default)]
pub(super) struct Bell {
    listeners: AtomicUsize,
    rung: Notify,
}

impl Bell {
    pub(super) fn ring(&self) {
        if self.listeners.load(Ordering::SeqCst) > 0 {
            self.rung.notify_waiters();
        }
    }

    /// Listens from now on: to be had before one looks at what may change.
    pub(super) fn listener(&self) -> BellListener<'_> {
        self.listeners.fetch_add(1, Ordering::SeqCst);
        BellListener(self)
    }
}

/// One who listens, until it is dropped.
pub(super) struct BellListener<'a>(&'a Bell);

impl BellListener<'_> {
    /// Returns when it has rung since this was *called*.
    pub(super) fn rung(&self) -> Notified<'_> {
        self.0.rung.notified()
    }
}

impl Drop for BellListener<'_> {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_change_is_missed_by_one_who_begins_to_listen() {
        for _ in 0..2_000 {
            let all = Arc::new((Bell::default(), AtomicBool::new(false)));
            let listens = Arc::clone(&all);
            let listening = tokio::spawn(async move {
                let (bell, is_changed) = &*listens;
                loop {
                    let listener = bell.listener();
                    let rung = listener.rung();
                    if is_changed.load(Ordering::SeqCst) {
                        return;
                    }
                    rung.await;
                }
            });
            let (bell, is_changed) = &*all;
            is_changed.store(true, Ordering::SeqCst);
            bell.ring();
            let heard = tokio::time::timeout(std::time::Duration::from_secs(60), listening);
            heard.await.expect("it has heard of it").unwrap();
        }
    }
}
