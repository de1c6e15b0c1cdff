//! Clocks of servers that gain and lose time.

use std::ops::Deref;
use std::thread::{scope, sleep};
use std::time::Duration;

use tenure_testkit::servers::{Process, Proxy, ServerError};

use super::{Cost, LEASE, Mishap, Scene, WORKERS};
use crate::fleet::Fleet;

/// What part of its time a clock gains or loses: clocks may run as far apart as that.
pub(crate) const PART: u32 = 500;

/// Small beside any lease. What is slept is at least that, so no clock drifts by more than promised.
const STEP: Duration = Duration::from_millis(10);

/// Lets the clocks of servers gain time for so long and then lose as much, or first lose it: in the
/// end they are right again, and no clock was set. All go together: those of a group must agree.
///
/// # Errors
/// When a clock cannot be set.
pub fn drift<S>(servers: &[S], gains: bool, length: Duration) -> Result<(), ServerError>
where
    S: Deref<Target = Process>,
{
    let steps = (length.as_micros() / STEP.as_micros()) as u32;
    let there_and_back = (1..=steps).chain((0..steps).rev());
    there_and_back.into_iter().try_for_each(|step| {
        sleep(STEP);
        let off = STEP / PART * step;
        servers.iter().try_for_each(|server| match gains {
            true => server.set_clock(off),
            false => server.set_clock_back(off),
        })
    })
}

/// The clocks of some servers drift, as `which` chooses them. While they gain, all workers but one
/// are cut off from them: what those own ends by their own clocks, and the one that is left may
/// take it as soon as it can.
pub(super) fn drifts<'a>(
    name: &'static str,
    ways: &'a [Vec<Proxy>],
    which: impl Fn(&mut Scene<'_>) -> Vec<&'a Process> + Send + Sync + 'a,
) -> Mishap<'a> {
    let happens = move |scene: &mut Scene<'_>| {
        let gains = scene.chance.bool();
        let left = scene.one(WORKERS);
        let servers = which(scene);
        let length = scene.length.max(LEASE);
        let others = ways.iter().enumerate().filter(|(at, _)| *at != left);
        let others: Vec<_> = others.flat_map(|(_, ways)| ways).collect();
        scope(|scope| {
            let drifting = scope.spawn(|| drift(&servers, gains, length));
            if gains {
                cut(&others, length)?;
            }
            drifting.join().expect("no clock panics")
        })
    };
    Mishap::new(name, happens).costing(Cost::ServerSpeed)
}

/// A worker whose clock loses time is cut off for longer than a lease: what it owns ends by that
/// clock.
pub(super) fn slow_and_cut_off<'a>(ways: &'a [Vec<Proxy>], fleet: &'a Fleet) -> Mishap<'a> {
    let happens = move |scene: &mut Scene<'_>| {
        let with_clocks = fleet.with_clocks();
        let at = with_clocks[scene.one(with_clocks.len())];
        if !fleet.drift_clock(at, false, 2 * LEASE) {
            return Err(ServerError::new("the worker is dead"));
        }
        let ways: Vec<_> = ways[at].iter().collect();
        cut(&ways, LEASE + LEASE / 4)
    };
    Mishap::new("slow worker cut off", happens).costing(Cost::WorkerSpeed)
}

fn cut(ways: &[&Proxy], length: Duration) -> Result<(), ServerError> {
    ways.iter().for_each(|way| way.partition());
    sleep(length);
    ways.iter().try_for_each(|way| way.heal())
}
