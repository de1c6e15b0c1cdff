//! Taking and freeing a lock that no other wants, on a server that waits for its disk at each
//! commit, as servers do where nothing is set.

use super::{Bench, sides, take_free};
use crate::Result;
use crate::environment::{Disk, RunningStore, Store};
use crate::report::{Row, Unit};

pub(super) fn measure(bench: &mut Bench<'_>, store: Store) -> Result<()> {
    let stage = RunningStore::start_with(store, Disk::WaitedFor)?;
    bench.say(&stage, "take and free, with a disk");
    let kinds = sides::take_free_on_disk(store);
    let mut workers = take_free::workers(bench, &stage, &kinds)?;
    let (id, name) = (format!("take-free-on-disk/{}", store.key()), store.name());
    let title = format!("take + free, {name}, each commit on its disk");
    let mut row = Row {
        sides: sides::sides(&kinds),
        goal: Some(sides::take_free_goal(store)),
        ..Row::new(id, title, Unit::Micros)
    };
    for _ in 0..bench.effort.rounds {
        for (number, worker) in workers.iter_mut().enumerate() {
            let count = take_free::count(bench, worker)?;
            row.sides[number]
                .rounds
                .push(take_free::micros(bench, count));
        }
    }
    bench.rows.push(row);
    Ok(())
}
