//! Taking and freeing a lock that no other wants, on a server that waits for its disk at each
//! commit, as servers do where nothing is set.

use super::{Bench, sides};
use crate::Result;
use crate::environment::{Disk, Lease, RunningStore, Store};
use crate::report::{Row, Unit};
use crate::worker::{Command, Place, Worker};

pub(super) fn measure(bench: &mut Bench<'_>, store: Store) -> Result<()> {
    let stage = RunningStore::start_with(store, Disk::WaitedFor)?;
    bench.say(&stage, "take and free, with a disk");
    let kinds = sides::take_free(store);
    let url = stage.url(Lease::Usual);
    stage.pin(&[bench.cpu])?;
    let mut workers = Vec::new();
    for kind in &kinds {
        workers.push(Worker::start(*kind, &url, Place::Pinned(bench.cpu))?);
    }
    stage.pin(&[bench.cpu])?;
    let (id, name) = (format!("take-free-on-disk/{}", store.key()), store.name());
    let title = format!("take + free, {name}, each commit on its disk");
    let mut row = Row {
        sides: sides::sides(&kinds),
        goal: Some(sides::take_free_goal(store)),
        ..Row::new(id, title, Unit::Micros)
    };
    for _ in 0..bench.effort.rounds {
        for (number, worker) in workers.iter_mut().enumerate() {
            let answer = worker.ask(&Command::Cycle {
                tasks: 1,
                names: 1,
                millis: bench.effort.millis,
                prefix: bench.fresh("cycle"),
            })?;
            let micros = bench.effort.millis as f64 * 1_000.0 / answer[0].max(1) as f64;
            row.sides[number].rounds.push(micros);
        }
    }
    bench.rows.push(row);
    Ok(())
}
