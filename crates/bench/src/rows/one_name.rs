//! Many tasks of one process that want the same name: how often, and how fairly.

use super::{Bench, sides};
use crate::Result;
use crate::environment::{Lease, RunningStore};
use crate::locks::Kind;
use crate::report::{Goal, Row, Unit};
use crate::worker::{Command, Place, Worker};

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    let (store, tasks) = (stage.store(), bench.effort.tasks);
    bench.say(stage, "many tasks, one name");
    let kinds = [Kind::Tenure, Kind::Rslock];
    let mut workers = Vec::new();
    for kind in kinds {
        let place = Place::Anywhere(bench.all.len());
        workers.push(Worker::start(kind, &stage.url(Lease::Usual), place)?);
    }
    let row = |id: &str, title: &str, unit| Row {
        sides: sides::sides(&kinds),
        ..Row::new(
            format!("{id}/{}", store.key()),
            format!("{tasks} tasks, one name, {}{title}", store.name()),
            unit,
        )
    };
    let mut rate = row("one-name", "", Unit::PerSecond);
    rate.goal = Some(Goal::Share(1, 60.0));
    let mut fairness = row(
        "fairness",
        ": the luckiest task over the unluckiest",
        Unit::Ratio,
    );
    fairness.goal = Some(Goal::Most(1.1));
    for _ in 0..bench.effort.rounds {
        for (number, worker) in workers.iter_mut().enumerate() {
            let answer = worker.ask(&Command::Cycle {
                tasks,
                names: 1,
                millis: bench.effort.millis,
                prefix: bench.fresh("one"),
            })?;
            let each_second = answer[0] as f64 * 1_000.0 / bench.effort.millis as f64;
            rate.sides[number].rounds.push(each_second);
            // One that never had it counts as one: the number must be one.
            let unfair = answer[2] as f64 / answer[1].max(1) as f64;
            fairness.sides[number].rounds.push(unfair);
        }
    }
    bench.rows.extend([rate, fairness]);
    Ok(())
}
