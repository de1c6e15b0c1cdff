//! From the end of the lease of an owner that was killed until the next has it.

use std::thread::sleep;
use std::time::Duration;

use super::{Bench, sides};
use crate::Result;
use crate::environment::{Lease, RunningStore, SHORT, Store};
use crate::locks::Kind;
use crate::report::{Goal, Row, Side, Unit};
use crate::worker::{Command, Place, Worker, now};

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    bench.say(stage, "owner killed");
    let kinds = sides::killed(stage.store());
    let mut sides = sides::sides(&kinds);
    for _ in 0..bench.effort.rounds {
        for (kind, side) in kinds.iter().zip(&mut sides) {
            side.rounds.push(late(bench, stage, *kind)?);
        }
    }
    let (store, key) = (stage.store().name(), stage.store().key());
    let row = |id: &str, title: String, sides: Vec<Side>, goal| Row {
        sides,
        goal,
        ..Row::new(format!("{id}/{key}"), title, Unit::Millis)
    };
    let limit = Some(Goal::Most(10.0));
    if stage.store() == Store::Zookeeper {
        // When a session ends is the server's affair: it looks at its ticks.
        let title = format!("owner killed → next, {store}, a session of 2 s");
        bench
            .rows
            .push(row("killed", title, sides, Some(Goal::Times(1, 1.1))));
        return Ok(());
    }
    let title = |what: &str| format!("owner killed → next, after the lease's end, {store}{what}");
    let split = kinds.iter().position(|kind| *kind == Kind::Reentrant);
    if let Some(at) = split {
        let reentrant = sides.remove(at);
        let peers = sides[at..].to_vec();
        let sides = [vec![reentrant], peers].concat();
        let reentrant = row("killed-reentrant", title(", reentrant"), sides, limit);
        bench.rows.push(reentrant);
    }
    bench.rows.push(row("killed", title(""), sides, limit));
    Ok(())
}

/// How late the next owner is, in milliseconds.
fn late(bench: &Bench<'_>, stage: &RunningStore, kind: Kind) -> Result<f64> {
    let (url, name) = (stage.url(Lease::Short), bench.fresh("killed"));
    let mut waiter = Worker::start(kind, &url, Place::Anywhere(1))?;
    let mut owner = Worker::start(kind, &url, Place::Anywhere(1))?;
    let taken = owner.ask(&Command::Take(name.clone()))?;
    waiter.tell(&Command::Take(name))?;
    // Before its first renewal.
    sleep(Duration::from_millis(300));
    owner.kill()?;
    let end = match stage.store() {
        Store::Zookeeper => now(),
        // The store granted it somewhere between the two.
        _ => (taken[0] + taken[1]) / 2 + SHORT,
    };
    let next = waiter.hear()?;
    Ok((next[1] as f64 - end as f64) / 1e6)
}
