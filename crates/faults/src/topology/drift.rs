//! Clocks of servers that gain and lose time.

use std::ops::Deref;
use std::thread::sleep;
use std::time::Duration;

use tenure_testkit::servers::{Process, ServerError};

use super::{Cost, Mishap, Scene};

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

/// The clocks of some servers drift, as `which` chooses them.
pub(super) fn drifts<'a, S>(
    name: &'static str,
    which: impl Fn(&mut Scene<'_>) -> Vec<S> + Send + Sync + 'a,
) -> Mishap<'a>
where
    S: Deref<Target = Process> + 'a,
{
    let happens = move |scene: &mut Scene<'_>| {
        let gains = scene.chance.bool();
        drift(&which(scene), gains, scene.length)
    };
    Mishap::new(name, happens).costing(Cost::ServerSpeed)
}
