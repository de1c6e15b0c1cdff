//! Taking and freeing a lock that no other wants: one task, on one processor with the server.

use super::{Bench, sides};
use crate::Result;
use crate::environment::{Lease, RunningStore, Store};
use crate::locks::Kind;
use crate::report::{Goal, Row, Unit};
use crate::worker::{Command, Place, Worker};

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    bench.say(stage, "take and free");
    let (store, key) = (stage.store(), stage.store().key());
    let kinds = sides::take_free_alone(store);
    let mut workers = workers(bench, stage, &kinds)?;
    let row = |id: &str, title: String| Row {
        sides: sides::sides(&kinds),
        ..Row::new(format!("{id}/{key}"), title, Unit::Micros)
    };
    let title = match store {
        Store::Memory => "take + free, engine alone (memory store)".to_owned(),
        Store::Sqlite => "take + free, SQLite (file in memory)".to_owned(),
        _ => format!("take + free, {}, 1 task, one core", store.name()),
    };
    let mut time = row("take-free", title);
    // Where the server has a disk, the goal is set with it: see `on_disk`.
    time.goal = match store {
        Store::Postgres | Store::Mariadb => None,
        _ => Some(sides::take_free_goal(store)),
    };
    let mut cpu = row(
        "server-cpu",
        format!("processor time of {} for a take + free", store.name()),
    );
    let mut script = row("evalsha", "server time per EVALSHA, Redis".to_owned());
    script.goal = Some(Goal::Times(1, 2.2));
    for _ in 0..bench.effort.rounds {
        for (number, worker) in workers.iter_mut().enumerate() {
            let before = (stage.cpu(), stage.evalsha());
            let count = count(bench, worker)?;
            let after = (stage.cpu(), stage.evalsha());
            time.sides[number].rounds.push(micros(bench, count));
            if let (Some(before), Some(after)) = (before.0, after.0) {
                let used = after.saturating_sub(before) as f64;
                cpu.sides[number].rounds.push(used / count / 1_000.0);
            }
            if let (Some(before), Some(after)) = (before.1, after.1) {
                let calls = (after.1 - before.1).max(1);
                let mean = (after.0 - before.0) as f64 / calls as f64;
                script.sides[number].rounds.push(mean);
            }
        }
    }
    stage.pin(&bench.all)?;
    bench.rows.push(time);
    if store.has_server() {
        bench.rows.push(cpu);
    }
    if store == Store::Redis {
        // The peer does half of its work by other commands.
        script.sides.remove(2);
        bench.rows.push(script);
    }
    Ok(())
}

/// A worker of each kind, on one processor with the server.
pub(super) fn workers(
    bench: &Bench<'_>,
    stage: &RunningStore,
    kinds: &[Kind],
) -> Result<Vec<Worker>> {
    let url = stage.url(Lease::Usual);
    // A client that connects now is served on the same processor.
    stage.pin(&[bench.cpu])?;
    let start = |kind: &Kind| Worker::start(*kind, &url, Place::Pinned(bench.cpu));
    let workers = kinds.iter().map(start).collect::<Result<_>>()?;
    stage.pin(&[bench.cpu])?;
    Ok(workers)
}

/// How often a task of the worker takes and frees in a round, at least once.
pub(super) fn count(bench: &Bench<'_>, worker: &mut Worker) -> Result<f64> {
    let answer = worker.ask(&Command::Cycle {
        tasks: 1,
        names: 1,
        millis: bench.effort.millis,
        prefix: bench.fresh("cycle"),
    })?;
    Ok(answer[0].max(1) as f64)
}

/// How long each of so many took.
pub(super) fn micros(bench: &Bench<'_>, count: f64) -> f64 {
    bench.effort.millis as f64 * 1_000.0 / count
}
