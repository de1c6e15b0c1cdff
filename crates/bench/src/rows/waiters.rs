//! One name that many clients wait for, each with a connection of its own.

use super::Bench;
use crate::Result;
use crate::environment::{Lease, RunningStore, Store};
use crate::locks::Kind;
use crate::report::{Growth, Unit};
use crate::worker::{Command, Place, Worker};

/// Where each client is a process, a thread or many files, there cannot be so many of them.
const FEWER: usize = 100;

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    bench.say(stage, "clients that wait for one name");
    let store = stage.store();
    let sizes = bench.effort.waiters.iter().copied();
    let sizes: Vec<usize> = sizes
        .filter(|size| store == Store::Redis || *size <= FEWER)
        .collect();
    let mut growth = Growth::new(
        format!("waiters/{}", store.key()),
        format!("hand-over from client to client, {}", store.name()),
        Kind::Tenure.name(),
        "clients that wait",
        Unit::Micros,
        &sizes,
    );
    let url = stage.url(Lease::Usual);
    for _ in 0..bench.effort.rounds {
        for point in &mut growth.points {
            let mut worker = Worker::start(Kind::Tenure, &url, Place::Anywhere(bench.all.len()))?;
            let answer = worker.ask(&Command::Line {
                waiters: point.size,
                name: bench.fresh("line"),
            })?;
            let each = answer[0] as f64 / 1_000.0 / point.size as f64;
            point.rounds.push(each);
        }
    }
    bench.growths.push(growth);
    Ok(())
}
