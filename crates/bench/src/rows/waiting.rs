//! What it costs a server that names are waited for.

use std::time::Duration;

use super::Bench;
use super::holding::watch;
use crate::Result;
use crate::environment::{Lease, RunningStore};
use crate::locks::Kind;
use crate::report::{Row, Side, Unit};
use crate::worker::{Command, Place, Worker};

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    if !stage.store().has_server() {
        return Ok(());
    }
    bench.say(stage, "names that are waited for");
    let (count, store) = (bench.effort.waiting, stage.store());
    let length = Duration::from_millis(bench.effort.watch_millis);
    let mut side = Side::new("Tenure");
    for _ in 0..bench.effort.rounds {
        let (url, prefix) = (stage.url(Lease::Usual), bench.fresh("wanted"));
        let mut owner = Worker::start(Kind::Tenure, &url, Place::Anywhere(1))?;
        let hold = Command::Hold {
            count,
            prefix: prefix.clone(),
        };
        owner.ask(&hold)?;
        let before = watch(stage, length);
        let mut waiter = Worker::start(Kind::Tenure, &url, Place::Anywhere(1))?;
        waiter.ask(&Command::Wait { count, prefix })?;
        let after = watch(stage, length);
        let more = before.cpu.zip(after.cpu);
        let more = more.map(|(before, after)| (after - before).max(0.0) / count as f64);
        side.rounds.extend(more);
    }
    bench.rows.push(Row {
        sides: vec![side],
        ..Row::new(
            format!("waiting-cpu/{}", store.key()),
            format!(
                "processor time of {} for a name that is waited for, each second",
                store.name()
            ),
            Unit::Micros,
        )
    });
    Ok(())
}
