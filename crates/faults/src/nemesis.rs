//! What happens when, all of it from a seed.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fastrand::Rng;
use tenure_testkit::history::What;
use tenure_testkit::servers::ServerError;

use crate::fleet::{Fleet, Surroundings};
use crate::log::Log;
use crate::topology::{Mishap, Topology};

/// How long it may take until everything is owned again once all is mended. Far longer than it
/// takes: the machine may be busy.
const RECOVERY: Duration = Duration::from_secs(60);

/// What has happened, and what did not recover from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// The names of all mishaps, in their order.
    pub mishaps: Vec<&'static str>,
    /// In words: what no worker owned again, which worker ended.
    pub stuck: Vec<String>,
}

/// Lets mishaps happen for so long, one or two at a time. After each everything is mended, and
/// all of `names` must be owned again.
///
/// # Errors
/// When a server cannot be brought back, which is not the fault of what is tested.
pub fn rage(
    topology: &dyn Topology,
    fleet: &Fleet,
    log: &Log,
    names: &[&'static str],
    chance: &mut Rng,
    length: Duration,
) -> Result<Happened, ServerError> {
    let mut happened = Happened::default();
    let mut menu = of_workers(fleet);
    menu.extend(topology.menu(fleet));
    recovered(log, names, Duration::ZERO, &mut happened);
    // However long the start took, something happens.
    let end = Instant::now() + length;
    while happened.stuck.is_empty() && (happened.mishaps.is_empty() || Instant::now() < end) {
        sleep(Duration::from_millis(chance.u64(50..500)));
        let first = &menu[chance.usize(..menu.len())];
        let mut both = vec![first];
        if chance.u8(0..3) == 0 {
            both.push(&menu[chance.usize(..menu.len())]);
        }
        for mishap in &both {
            note(log, mishap, false);
            happened.mishaps.push(mishap.name);
        }
        scope(|scope| {
            for (at, mishap) in both.iter().enumerate() {
                let (length, mut chance) = (length_of(chance, topology.lease()), chance.fork());
                scope.spawn(move || {
                    sleep(length / 3 * at as u32);
                    // Two at once may hinder each other: what is dead cannot be stopped.
                    let _ = (mishap.happens)(&mut chance, length);
                });
            }
        });
        topology.mend()?;
        happened.stuck.extend(fleet.mend()?);
        both.iter().for_each(|mishap| note(log, mishap, true));
        recovered(log, names, log.now(), &mut happened);
    }
    Ok(happened)
}

/// 0.3 to 3 leases, more often short than long.
fn length_of(chance: &mut Rng, lease: Duration) -> Duration {
    let part = chance.f64();
    lease.mul_f64(0.3 + 2.7 * part * part)
}

fn note(log: &Log, mishap: &Mishap<'_>, is_over: bool) {
    let fault = What::Fault {
        what: mishap.name.into(),
        is_over,
        forgets: mishap.forgets,
    };
    log.note("nemesis", fault);
}

/// Waits until everything was owned since `moment`.
fn recovered(log: &Log, names: &[&'static str], moment: Duration, happened: &mut Happened) {
    let end = Instant::now() + RECOVERY;
    loop {
        let free = log.free_since(names, moment);
        if free.is_empty() {
            return;
        }
        if Instant::now() > end {
            let after = happened.mishaps.last().unwrap_or(&"the start");
            let stuck = free.iter().map(|name| {
                format!("{name:?} was not owned for {RECOVERY:?} after {after} was over")
            });
            happened.stuck.extend(stuck);
            return;
        }
        sleep(Duration::from_millis(20));
    }
}

/// What can happen to the workers, whatever the store.
fn of_workers(fleet: &Fleet) -> Vec<Mishap<'_>> {
    let one = move |chance: &mut Rng| chance.usize(..fleet.size());
    vec![
        Mishap::new("worker killed", move |chance, length| {
            let at = one(chance);
            fleet.kill(at);
            sleep(length / 2);
            Ok(fleet.begin(at, Surroundings::Usual)?)
        }),
        Mishap::new("worker stopped", move |chance, length| {
            let at = one(chance);
            fleet.stop(at);
            sleep(length);
            fleet.go_on(at);
            Ok(())
        }),
        Mishap::new("all workers stopped", move |_, length| {
            (0..fleet.size()).for_each(|at| fleet.stop(at));
            sleep(length);
            (0..fleet.size()).for_each(|at| fleet.go_on(at));
            Ok(())
        }),
        Mishap::new("worker stopped again and again", move |chance, length| {
            let at = one(chance);
            for _ in 0..5 {
                fleet.stop(at);
                sleep(length / 8);
                fleet.go_on(at);
                sleep(Duration::from_millis(chance.u64(1..60)));
            }
            Ok(())
        }),
        Mishap::new("all workers killed", move |_, length| {
            (0..fleet.size()).for_each(|at| fleet.kill(at));
            sleep(length / 4);
            let begin = |at| fleet.begin(at, Surroundings::Usual);
            Ok((0..fleet.size()).try_for_each(begin)?)
        }),
    ]
}
