//! Takes a combination lock again and again.

use std::rc::Rc;
use std::time::Duration;

use tenure::clock::Clock;
use tenure::combination::Mode;
use tenure::model::MutexName;
use tenure::{CombinationLock, Holder};
use tenure_testkit::history::What;

use super::hold::{Claim, hold};
use super::writer::Writer;
use super::{Worker, stubborn};

pub(super) const NAME: &str = "both";

pub(super) async fn work(worker: Rc<Worker>, urls: Vec<String>, by_majority: bool, clock: Clock) {
    let name = MutexName::new(NAME).expect("a name");
    let mode = match by_majority {
        true => Mode::Majority,
        false => Mode::Leftmost,
    };
    let build = || {
        let builder = CombinationLock::builder()
            .nodes(urls.clone())
            .mode(mode)
            .expiry(worker.orders.lease)
            .clock(clock.clone())
            // The usual one is that of an idle data centre.
            .command_timeout(Duration::from_millis(100))
            .probe_max(Duration::from_secs(1));
        builder.build(NAME)
    };
    let lock = stubborn(build).await.held_by(&Holder::new("worker"));
    let mut writer = Writer::open(&worker).await;
    loop {
        worker.tell(worker.now(), What::Asked { name: name.clone() });
        let wait = worker.leases(0.3, 4.0);
        match lock.acquire_within(wait).await {
            Ok(Some(guard)) => {
                let claim = Claim::Combination(&guard, NAME);
                match hold(&worker, &mut writer, claim).await {
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
