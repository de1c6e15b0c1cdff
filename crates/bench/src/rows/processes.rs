//! Many processes, each with a name of its own.

use super::{Bench, sides};
use crate::Result;
use crate::environment::{Lease, RunningStore};
use crate::locks::Kind;
use crate::report::{Growth, Unit};
use crate::worker::{Command, Place, Worker};

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    bench.say(stage, "many processes");
    let (store, url) = (stage.store(), stage.url(Lease::Usual));
    let kinds: Vec<Kind> = sides::take_free(store).into_iter().take(2).collect();
    for kind in &kinds {
        let side = if kind.is_ours() { "" } else { "/bare" };
        let growth = Growth::new(
            format!("processes/{}{side}", store.key()),
            format!("take + free of all processes together, {}", store.name()),
            kind.name(),
            "processes",
            Unit::PerSecond,
            &bench.effort.processes,
        );
        bench.growths.push(growth);
    }
    let first = bench.growths.len() - kinds.len();
    for _ in 0..bench.effort.rounds {
        for (number, size) in bench.effort.processes.iter().enumerate() {
            for (kind, at) in kinds.iter().zip(first..) {
                let rate = together(bench, *kind, &url, *size)?;
                bench.growths[at].points[number].rounds.push(rate);
            }
        }
    }
    Ok(())
}

/// How often so many processes take and free in a second, all together.
fn together(bench: &Bench<'_>, kind: Kind, url: &str, size: usize) -> Result<f64> {
    let mut workers = Vec::new();
    for _ in 0..size {
        workers.push(Worker::start(kind, url, Place::Anywhere(1))?);
    }
    for worker in &mut workers {
        worker.tell(&Command::Cycle {
            tasks: 1,
            names: 1,
            millis: bench.effort.millis,
            prefix: bench.fresh("process"),
        })?;
    }
    let mut sum = 0;
    for worker in &mut workers {
        sum += worker.hear()?[0];
    }
    Ok(sum as f64 * 1_000.0 / bench.effort.millis as f64)
}
