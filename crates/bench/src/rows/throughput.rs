//! Many tasks of one process, each with a name of its own.

use super::{Bench, sides};
use crate::Result;
use crate::environment::{Lease, RunningStore};
use crate::report::{Goal, Row, Unit};
use crate::worker::{Command, Place, Worker};

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    let (store, tasks) = (stage.store(), bench.effort.tasks);
    bench.say(stage, "many tasks, many names");
    let kinds = sides::take_free(store);
    let mut workers = Vec::new();
    for kind in &kinds {
        let place = Place::Anywhere(bench.all.len());
        workers.push(Worker::start(*kind, &stage.url(Lease::Usual), place)?);
    }
    let mut row = Row {
        sides: sides::sides(&kinds),
        goal: Some(Goal::Share(1, 0.5)),
        ..Row::new(
            format!("many-names/{}", store.key()),
            format!("{tasks} tasks, {tasks} names, {}", store.name()),
            Unit::PerSecond,
        )
    };
    for _ in 0..bench.effort.rounds {
        for (worker, side) in workers.iter_mut().zip(&mut row.sides) {
            let answer = worker.ask(&Command::Cycle {
                tasks,
                names: tasks,
                millis: bench.effort.millis,
                prefix: bench.fresh("many"),
            })?;
            side.rounds
                .push(answer[0] as f64 * 1_000.0 / bench.effort.millis as f64);
        }
    }
    bench.rows.push(row);
    Ok(())
}
