//! Owns several mutexes of its own for long, as a service does that has a lock for each of its
//! shards: what happens to one of them must not cost it the others.

use std::rc::Rc;
use std::time::Duration;

use tenure::Coordinator;
use tenure::model::MutexName;
use tenure_testkit::history::What;
use tokio::task::JoinHandle;

use super::Worker;
use super::hold::{Claim, Held, keep_until};

/// How many each worker has.
pub(crate) const SIZE: usize = 6;

/// How often it looks whether it runs.
const PULSE: Duration = Duration::from_millis(50);

/// The name of one of them. The lives of a worker have the same ones.
pub(crate) fn name(worker: &str, place: usize) -> String {
    let worker = worker.split('.').next().unwrap_or(worker);
    format!("shelf-{worker}-{place}")
}

pub(super) fn begin(worker: &Rc<Worker>, coordinator: &Coordinator) -> Vec<JoinHandle<()>> {
    let one = |place| {
        let (worker, coordinator) = (Rc::clone(worker), coordinator.clone());
        tokio::task::spawn_local(work(worker, coordinator, place))
    };
    let mut tasks: Vec<_> = (0..SIZE).map(one).collect();
    tasks.push(tokio::task::spawn_local(pulse(Rc::clone(worker))));
    tasks
}

async fn work(worker: Rc<Worker>, coordinator: Coordinator, place: usize) {
    let name = name(&worker.orders.process, place);
    let lock = coordinator.lock(name.as_str()).expect("a name");
    let name = MutexName::new(&name).expect("a name");
    loop {
        worker.tell(worker.now(), What::Asked { name: name.clone() });
        match lock.acquire_within(worker.leases(1.0, 4.0)).await {
            Ok(Some(guard)) => {
                let claim = Claim::Tenure(guard.tenure());
                let end = worker.now() + worker.leases(4.0, 20.0);
                let is_owner = match Held::begin(&worker, &claim) {
                    Some(held) => keep_until(&worker, None, held, claim, |now| now >= end).await,
                    None => false,
                };
                match is_owner {
                    true => drop(guard.release().await),
                    false => drop(guard),
                }
            }
            Ok(None) => {}
            Err(error) => worker.failed(&error).await,
        }
        worker.rest(100).await;
    }
}

/// Tells when the worker did not run for a while: a machine that is busy, and not the store, may
/// have cost it what it loses then.
async fn pulse(worker: Rc<Worker>) {
    let long = worker.orders.lease / 6;
    let mut last = worker.now();
    loop {
        tokio::time::sleep(PULSE).await;
        let now = worker.now();
        if now.saturating_sub(last) > long {
            let what: Box<str> = format!("{} held up", worker.orders.process).into();
            let fault = |is_over| What::Fault {
                what: what.clone(),
                is_over,
            };
            worker.tell(last, fault(false));
            worker.tell(now, fault(true));
        }
        last = now;
    }
}
