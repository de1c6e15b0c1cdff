//! What happens when, all of it from a seed.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fastrand::Rng;
use tenure_testkit::history::What;
use tenure_testkit::servers::ServerError;

use crate::fleet::{Fleet, Surroundings};
use crate::habits;
use crate::log::Log;
use crate::slice::SlicePlan;
use crate::topology::{Cost, Mishap, Scene, Topology};
use crate::worker::{ERRORS, Store};

/// How long it may take until every mutex is owned again once all is mended, and until it has gone
/// from owner to owner in the end. Far
/// longer than it takes: the machine may be busy.
const RECOVERY: Duration = Duration::from_secs(60);

/// How much longer than planned a slice goes on in which nothing has happened yet.
const PATIENCE: Duration = Duration::from_secs(300);

/// How many mishaps there are at a time, as often as they stand here.
const AT_A_TIME: [usize; 6] = [1, 1, 2, 2, 3, 4];

/// What has happened, and what did not recover from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// The names of all mishaps that happened, in their order.
    pub mishaps: Vec<&'static str>,
    /// How many were meant to happen and could not.
    pub failed: u64,
    /// How long the slowest mutex took to go on again.
    pub slowest: Duration,
    /// In words: what did not go on, which worker ended.
    pub stuck: Vec<String>,
}

/// Lets mishaps happen as planned, one or some at a time. After each time everything is mended,
/// and all mutexes of `store` must go on.
///
/// # Errors
/// When a server cannot be brought back, which is not the fault of what is tested.
pub fn rage(
    topology: &dyn Topology,
    fleet: &Fleet,
    log: &Log,
    store: &Store,
    chance: &mut Rng,
    plan: &SlicePlan,
) -> Result<Happened, ServerError> {
    let mut happened = Happened::default();
    let mut menu = of_workers(fleet);
    menu.extend(habits::menu(fleet));
    menu.extend(topology.menu(fleet));
    only(&plan.only, &mut menu)?;
    recovered(topology, log, store, 1, Duration::ZERO, &mut happened);
    happened.slowest = Duration::ZERO;
    // However long the start took, something happens.
    let end = Instant::now() + plan.length;
    while happened.stuck.is_empty() && (happened.mishaps.is_empty() || Instant::now() < end) {
        if happened.failed > 0 && happened.mishaps.is_empty() && Instant::now() > end + PATIENCE {
            let failed = happened.failed;
            return Err(ServerError::new(format!(
                "nothing was broken: {failed} faults were meant to happen, and none could"
            )));
        }
        sleep(Duration::from_millis(chance.u64(20..200)));
        let mishaps = choose(&menu, topology.crowd(), chance);
        let lease = topology.lease();
        let deeds: Vec<_> = scope(|scope| {
            let deeds = mishaps.iter().enumerate().map(|(at, mishap)| {
                let mut scene = Scene {
                    length: length_of(chance, lease),
                    chance: chance.fork(),
                    log,
                };
                scope.spawn(move || {
                    sleep(scene.length / 4 * (at % 4) as u32);
                    note(log, mishap.name, false);
                    let done = (mishap.happens)(&mut scene);
                    if let Err(error) = &done {
                        if std::env::var_os(ERRORS).is_some() {
                            eprintln!("{}: {error}", mishap.name);
                        }
                        // What is dead cannot be stopped: it did not happen.
                        note(log, mishap.name, true);
                    }
                    done.is_ok()
                })
            });
            let deeds: Vec<_> = deeds.collect();
            let join = |deed: std::thread::ScopedJoinHandle<'_, bool>| {
                deed.join().expect("no mishap panics")
            };
            deeds.into_iter().map(join).collect()
        });
        topology.mend()?;
        happened.stuck.extend(fleet.mend()?);
        for (mishap, is_done) in mishaps.iter().zip(deeds) {
            if is_done {
                note(log, mishap.name, true);
                happened.mishaps.push(mishap.name);
            } else {
                happened.failed += 1;
            }
        }
        recovered(topology, log, store, 1, log.now(), &mut happened);
    }
    recovered(topology, log, store, 2, log.now(), &mut happened);
    all_ask(log, fleet.size(), store, &mut happened);
    Ok(happened)
}

/// Leaves what is named on the menu, or all of it where nothing is.
fn only(names: &[String], menu: &mut Vec<Mishap<'_>>) -> Result<(), ServerError> {
    let is_unknown = |name: &&String| menu.iter().all(|mishap| mishap.name != *name);
    if let Some(name) = names.iter().find(is_unknown) {
        let all: Vec<_> = menu.iter().map(|mishap| mishap.name).collect();
        let all = all.join("; ");
        return Err(ServerError::new(format!(
            "no fault {name:?}; there are {all}"
        )));
    }
    menu.retain(|mishap| names.is_empty() || names.iter().any(|name| name == mishap.name));
    Ok(())
}

/// Some that can happen at the same time, each once.
fn choose<'m, 'a>(menu: &'m [Mishap<'a>], crowd: usize, chance: &mut Rng) -> Vec<&'m Mishap<'a>> {
    let number = crowd * AT_A_TIME[chance.usize(..AT_A_TIME.len())];
    let mut chosen: Vec<&Mishap<'_>> = Vec::new();
    for _ in 0..number {
        let mishap = &menu[chance.usize(..menu.len())];
        let fits = |other: &&Mishap<'_>| other.name != mishap.name && other.goes_with(mishap);
        if chosen.iter().all(fits) {
            chosen.push(mishap);
        }
    }
    chosen
}

/// 0.3 to 3 leases, more often short than long.
fn length_of(chance: &mut Rng, lease: Duration) -> Duration {
    let part = chance.f64();
    lease.mul_f64(0.3 + 2.7 * part * part * part)
}

fn note(log: &Log, name: &str, is_over: bool) {
    let what = name.into();
    log.note("nemesis", What::Fault { what, is_over });
}

/// Waits until every mutex had so many turns since `moment`.
fn recovered(
    topology: &dyn Topology,
    log: &Log,
    store: &Store,
    turns: usize,
    moment: Duration,
    happened: &mut Happened,
) {
    let after = *happened.mishaps.last().unwrap_or(&"the start");
    let begun = Instant::now();
    let still = || log.progress(|progress| progress.still(store.names(), turns, moment));
    let still = wait_for(still);
    happened.slowest = happened.slowest.max(begun.elapsed());
    let queues = match still.is_empty() {
        true => None,
        false => topology.queues(),
    };
    let queues = queues.map_or_else(String::new, |queues| format!("; in the queues: {queues}"));
    happened.stuck.extend(still.iter().map(|name| {
        format!("{name:?} did not go on for {RECOVERY:?} after {after} was over{queues}")
    }));
}

/// In the end every worker asks again, or is stuck itself.
fn all_ask(log: &Log, workers: usize, store: &Store, happened: &mut Happened) {
    let moment = log.now();
    let silent = || log.progress(|progress| progress.silent(workers, store.asked(), moment));
    let silent = wait_for(silent);
    let stuck = silent
        .iter()
        .map(|who| format!("{who} was silent for {RECOVERY:?} in the end"));
    happened.stuck.extend(stuck);
}

/// Waits until nothing is left, and gives what is left for too long.
fn wait_for<T>(left: impl Fn() -> Vec<T>) -> Vec<T> {
    let end = Instant::now() + RECOVERY;
    loop {
        let left = left();
        if left.is_empty() || Instant::now() > end {
            return left;
        }
        sleep(Duration::from_millis(20));
    }
}

fn dead() -> ServerError {
    ServerError::new("the worker is dead")
}

fn if_so(is_done: bool) -> Result<(), ServerError> {
    if is_done { Ok(()) } else { Err(dead()) }
}

/// What can happen to the workers, whatever the store.
fn of_workers(fleet: &Fleet) -> Vec<Mishap<'_>> {
    let all = move || 0..fleet.size();
    let mut menu = vec![
        Mishap::new("worker killed", move |scene| {
            let at = scene.one(fleet.size());
            if_so(fleet.kill(at))?;
            scene.wait(0.5);
            Ok(fleet.begin(at, Surroundings::Usual)?)
        }),
        Mishap::new("worker stopped", move |scene| {
            let at = scene.one(fleet.size());
            if_so(fleet.stop(at))?;
            scene.wait(1.0);
            fleet.go_on(at);
            Ok(())
        }),
        Mishap::new("all workers stopped", move |scene| {
            let stopped = all().filter(|at| fleet.stop(*at)).count();
            if_so(stopped > 0)?;
            scene.wait(1.0);
            all().for_each(|at| _ = fleet.go_on(at));
            Ok(())
        }),
        Mishap::new("worker stopped again and again", move |scene| {
            let at = scene.one(fleet.size());
            for _ in 0..5 {
                if_so(fleet.stop(at))?;
                scene.wait(0.125);
                fleet.go_on(at);
                sleep(Duration::from_millis(scene.chance.u64(1..60)));
            }
            Ok(())
        }),
        Mishap::new("all workers killed", move |scene| {
            let killed = all().filter(|at| fleet.kill(*at)).count();
            if_so(killed > 0)?;
            scene.wait(0.25);
            let begin = |at| fleet.begin(at, Surroundings::Usual);
            Ok(all().try_for_each(begin)?)
        })
        .costing(Cost::Lives),
        Mishap::new("another time namespace", move |scene| {
            let at = scene.one(fleet.size());
            fleet.kill(at);
            let ahead = Duration::from_secs(scene.chance.u64(1..1_000_000));
            fleet.begin(at, Surroundings::OtherTime(ahead))?;
            scene.wait(2.0);
            fleet.kill(at);
            Ok(())
        }),
        Mishap::new("two workers are copies of one machine", move |scene| {
            let first = scene.one(fleet.size());
            let second = (first + 1 + scene.one(fleet.size() - 1)) % fleet.size();
            for at in [first, second] {
                fleet.kill(at);
                fleet.begin(at, Surroundings::SameChance)?;
            }
            scene.wait(2.0);
            fleet.kill(first);
            fleet.kill(second);
            Ok(())
        }),
    ];
    let with_clocks = fleet.with_clocks();
    if !with_clocks.is_empty() {
        menu.push(Mishap::new("worker's clock set", move |scene| {
            let at = with_clocks[scene.one(with_clocks.len())];
            let by = scene.length.mul_f64(scene.chance.f64() * 2.0);
            let ahead = scene.chance.bool();
            if_so(fleet.set_clock(at, ahead, by))?;
            scene.wait(0.5);
            // A newborn one has not heard of the first, and is off by as much then.
            fleet.set_clock(at, !ahead, by);
            Ok(())
        }));
        menu.push(drifts(fleet, "worker's clock slow", false));
        menu.push(drifts(fleet, "worker's clock fast", true));
    }
    menu
}

/// The clock of a worker gains or loses time for a while.
fn drifts<'a>(fleet: &'a Fleet, name: &'static str, gains: bool) -> Mishap<'a> {
    let with_clocks = fleet.with_clocks();
    let happens = move |scene: &mut Scene<'_>| {
        let at = with_clocks[scene.one(with_clocks.len())];
        if_so(fleet.drift_clock(at, gains, scene.length * 2))?;
        scene.wait(2.0);
        Ok(())
    };
    Mishap::new(name, happens).costing(Cost::WorkerSpeed)
}
