//! Has a part in a schedule.

use std::rc::Rc;
use std::time::Duration;

use tenure::Coordinator;
use tenure::schedule::{ScheduleConfig, Tick};
use tenure_testkit::history::What;

use super::{Worker, stubborn};

pub(super) const NAME: &str = "plan";

const PERIOD: Duration = Duration::from_millis(200);

pub(super) async fn work(worker: Rc<Worker>, coordinator: Coordinator) {
    let config = ScheduleConfig::rate(Duration::ZERO, PERIOD).expect("a plan");
    let config = config.with_rerun_of_unfinished();
    let scheduler = coordinator.scheduler(NAME, config).expect("a schedule");
    stubborn(async || {
        let run = scheduler.run(|tick| run(Rc::clone(&worker), tick));
        run.await
    })
    .await;
}

/// One run: it counts as over only if its leader still leads then.
async fn run(worker: Rc<Worker>, tick: Tick) {
    let Ok(token) = tick.tenure().token() else {
        return;
    };
    let began = worker.now();
    let ran = |ended| What::Ran {
        schedule: tick.tenure().mutex().clone(),
        tick: tick.number(),
        token,
        is_rerun: tick.is_rerun(),
        ended,
    };
    worker.tell(began, ran(None));
    worker.rest(120).await;
    let now = worker.now();
    if tick.tenure().token().is_ok() {
        worker.tell(began, ran(Some(now)));
    }
}
