//! What can happen by what a worker does, whatever the store.

use std::time::Duration;

use tenure_testkit::servers::ServerError;

use crate::fleet::{Fleet, Surroundings};
use crate::judge::Kind;
use crate::progress::Progress;
use crate::topology::{Cost, Mishap, Scene};
use crate::worker::Habit;

/// Within this everything goes on that does, on a busy machine too: usually it takes a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// For how long a worker with a bad habit lives.
const LIFE: Duration = Duration::from_secs(8);

/// All of them; none where the lock is one of several nodes.
pub(crate) fn menu(fleet: &Fleet) -> Vec<Mishap<'_>> {
    if !fleet.has_one_store() {
        return Vec::new();
    }
    vec![
        Mishap::new("two workers with one id", move |scene| {
            let first = scene.one(fleet.size());
            let second = (first + 1 + scene.one(fleet.size() - 1)) % fleet.size();
            for at in [first, second] {
                fleet.kill(at);
                fleet.begin(at, Surroundings::With(Habit::OneId))?;
            }
            scene.wait(2.0);
            fleet.kill(first);
            fleet.kill(second);
            Ok(())
        }),
        Mishap::new("worker never looks at what it asked for", move |scene| {
            forgetful(fleet, scene)
        })
        .costing(Cost::Company),
        Mishap::new("leader asked to end", move |scene| lasting(fleet, scene))
            .costing(Cost::Company),
    ]
}

/// The lock and the election go on though one of those that ask for them never looks at the answer.
fn forgetful(fleet: &Fleet, scene: &mut Scene<'_>) -> Result<(), ServerError> {
    const NAMES: [&str; 2] = ["lock", LED];
    let at = scene.one(fleet.size());
    fleet.kill(at);
    fleet.begin(at, Surroundings::With(Habit::Forgetful))?;
    let end = scene.log.now() + LIFE;
    let mut since = scene.log.now();
    while since < end {
        let still = || {
            let still = |progress: &Progress| progress.still(&NAMES, 1, since);
            scene.log.progress(still)
        };
        if !scene.until(PATIENCE, || still().is_empty()) {
            for name in still() {
                let message = format!(
                    "{name:?} did not go on for {PATIENCE:?} beside one that asked for it and \
                     never looked"
                );
                scene.log.find(Kind::Stuck, name, since, message);
            }
            break;
        }
        since = scene.log.now();
    }
    fleet.kill(at);
    Ok(())
}

/// The election of which one worker stays the leader.
pub(crate) const LED: &str = "lead";

/// Begins a worker that leads until it is asked to end, and waits until it does; which one it is.
pub(crate) fn begin_leader(fleet: &Fleet, scene: &mut Scene<'_>) -> Result<usize, ServerError> {
    let at = scene.one(fleet.size());
    fleet.kill(at);
    let begun = scene.log.now();
    fleet.begin(at, Surroundings::With(Habit::Lasting))?;
    if scene.until(PATIENCE, || {
        leader(scene, begun).as_deref() == Some(fleet.name(at))
    }) {
        return Ok(at);
    }
    fleet.kill(at);
    Err(ServerError::new("it was not elected"))
}

/// The worker that was last elected, if that was not before `since`.
pub(crate) fn leader(scene: &Scene<'_>, since: Duration) -> Option<String> {
    let owner = |progress: &Progress| progress.owner(LED, since).map(str::to_owned);
    scene.log.progress(owner)
}

/// A leader that is asked to end hands over, long before its lease or its patience would have run out.
fn lasting(fleet: &Fleet, scene: &mut Scene<'_>) -> Result<(), ServerError> {
    let at = begin_leader(fleet, scene)?;
    scene.wait(0.5);
    let asked = scene.log.now();
    fleet.ask_to_end(at);
    let is_led = scene.until(PATIENCE, || {
        leader(scene, asked).is_some_and(|it| it != fleet.name(at))
    });
    fleet.kill(at);
    if !is_led {
        let message = format!(
            "{} was asked to end, and there was no other leader for {PATIENCE:?}",
            fleet.name(at)
        );
        scene.log.find(Kind::Stuck, LED, asked, message);
    }
    Ok(())
}
