//! From the moment a process begins to free until another, which waits, has it.

use std::thread::sleep;
use std::time::Duration;

use super::{Bench, sides};
use crate::Result;
use crate::environment::{Lease, RunningStore};
use crate::report::{Row, Unit, median};
use crate::worker::{Command, Place, Worker};

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    bench.say(stage, "hand over");
    let (store, url) = (stage.store(), stage.url(Lease::Usual));
    let kinds = sides::hand_over(store);
    let mut pairs = Vec::new();
    for kind in &kinds {
        let start = || Worker::start(*kind, &url, Place::Anywhere(1));
        pairs.push((bench.fresh("over"), start()?, start()?));
    }
    let mut row = Row {
        sides: sides::sides(&kinds),
        goal: sides::hand_over_goal(store),
        ..Row::new(
            format!("hand-over/{}", store.key()),
            format!("hand-over between processes, {}", store.name()),
            Unit::Millis,
        )
    };
    for (name, owner, _) in &mut pairs {
        owner.ask(&Command::Take(name.clone()))?;
    }
    for _ in 0..bench.effort.rounds {
        for ((name, owner, waiter), side) in pairs.iter_mut().zip(&mut row.sides) {
            let mut times = Vec::new();
            for number in 0..bench.effort.hand_overs {
                times.push(hand_over(name, owner, waiter, number)?);
                std::mem::swap(owner, waiter);
            }
            side.rounds.push(median(&times).unwrap_or(f64::NAN));
        }
    }
    bench.rows.push(row);
    Ok(())
}

/// One hand-over, in milliseconds.
fn hand_over(name: &str, owner: &mut Worker, waiter: &mut Worker, number: usize) -> Result<f64> {
    waiter.tell(&Command::Take(name.to_owned()))?;
    // Long enough to be asleep, and not always equally long: a poll must not be met by its beat.
    sleep(Duration::from_millis(40 + (number as u64 * 37) % 100));
    let freed = owner.ask(&Command::Free(name.to_owned()))?;
    let taken = waiter.hear()?;
    Ok(taken[1].saturating_sub(freed[0]) as f64 / 1e6)
}
