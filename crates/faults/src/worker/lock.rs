//! Takes a lock again and again.

use std::rc::Rc;
use std::time::Duration;

use tenure::Coordinator;
use tenure::lock::LockOptions;
use tenure::model::MutexName;
use tenure_testkit::history::What;

use super::Worker;
use super::hold::{Claim, hold};
use super::writer::Writer;

pub(super) const NAME: &str = "lock";

pub(super) async fn work(worker: Rc<Worker>, coordinator: Coordinator) {
    let name = MutexName::new(NAME).expect("a name");
    // Every fourth keeps it for a moment for the next of its process.
    let options = match worker.orders.seed % 4 {
        0 => LockOptions::default().with_linger(Duration::from_millis(30)),
        _ => LockOptions::default(),
    };
    let lock = coordinator.lock_with(NAME, options).expect("good options");
    let mut writer = Writer::open(&worker).await;
    loop {
        worker.tell(worker.now(), What::Asked { name: name.clone() });
        // Given up after a while, as by people: what was asked for is undone then.
        let wait = worker.leases(0.1, 4.0);
        match lock.acquire_within(wait).await {
            Ok(Some(guard)) => {
                let is_owner = hold(&worker, &mut writer, Claim::Tenure(guard.tenure())).await;
                match is_owner && worker.chance(|chance| chance.u8(0..5)) > 0 {
                    true => drop(guard.release().await),
                    false => drop(guard),
                }
            }
            Ok(None) => {}
            Err(error) => worker.failed(&error).await,
        }
        worker.rest(60).await;
    }
}
