//! Takes a reentrant lock again and again, two levels deep.

use std::rc::Rc;

use tenure::lock::ReentrantOptions;
use tenure::model::MutexName;
use tenure::{Coordinator, Holder};
use tenure_testkit::history::What;

use super::Worker;
use super::hold::{Claim, Held, keep};
use super::writer::Writer;

pub(super) const NAME: &str = "again";

pub(super) async fn work(worker: Rc<Worker>, coordinator: Coordinator) {
    let name = MutexName::new(NAME).expect("a name");
    let options = ReentrantOptions::default().with_expiry(worker.orders.lease);
    let lock = coordinator.reentrant_lock_with(NAME, options);
    let lock = lock.expect("good options").held_by(&Holder::new("worker"));
    let mut writer = Writer::open(&worker).await;
    loop {
        worker.tell(worker.now(), What::Asked { name: name.clone() });
        let wait = worker.leases(0.1, 4.0);
        match lock.acquire_within(wait).await {
            Ok(Some(outer)) => {
                let claim = || Claim::Tenure(outer.tenure());
                // Told before anything else is waited for: it is owned from here on.
                let held = Held::begin(&worker, &claim());
                let inner = lock.try_acquire().await.ok().flatten();
                let is_owner = match held {
                    Some(held) => keep(&worker, &mut writer, held, claim()).await,
                    None => false,
                };
                drop(inner);
                match is_owner {
                    true => drop(outer.release().await),
                    false => drop(outer),
                }
            }
            Ok(None) => {}
            Err(error) => worker.failed(&error).await,
        }
        worker.rest(100).await;
    }
}
