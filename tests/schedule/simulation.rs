//! Schedules in worlds where everything goes wrong that can.

use std::collections::BTreeMap;

use tenure::schedule::Misfire;
use tenure_testkit::fault::{Faults, Rates};

use super::mortal::Fate;
use super::support::{Diary, Run, World, alone, millis, rate, seconds};

const PERIOD: u64 = 4;

/// Three processes with an unreliable store; up to two of them die.
async fn world(seed: u64) -> (Vec<Run>, bool, Misfire) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let world = World::new();
    let diary = Diary::new(&world);
    let misfire = [Misfire::Skip, Misfire::Once, Misfire::Burst][rng.usize(0..3)];
    let rerun = rng.bool();
    let rates = Rates::all(rng.f64() * 0.06).delays_up_to(seconds(3));
    let mut processes = Vec::new();
    for number in 0..3 {
        let fate = match number {
            0 | 1 => Fate::dying_at(rng.u64(0..300)),
            _ => Fate::immortal(),
        };
        let faults = Faults::seeded(world.clock.clone(), rng.u64(..), rates);
        let process = world.make(faults, fate.clone(), rng.u64(..));
        let mut config = rate(seconds(PERIOD)).with_misfire(misfire);
        if rerun {
            config = config.with_rerun_of_unfinished();
        }
        let (diary, seed) = (diary.clone(), rng.u64(..));
        let job = move |tick: tenure::Tick| {
            let (diary, fate) = (diary.clone(), fate.clone());
            let mut rng = fastrand::Rng::with_seed(seed ^ tick.number());
            async move {
                let run = diary.begin(number, &tick);
                fate.step().await;
                let long = if rng.u8(0..8) == 0 { 9_000 } else { 1_500 };
                tokio::time::sleep(millis(rng.u64(0..long))).await;
                fate.step().await;
                diary.end(run);
                if rng.bool() {
                    Ok(())
                } else {
                    Err("half of them fail")
                }
            }
        };
        drop(process.scheduler(config).start(job).unwrap());
        processes.push(process);
        tokio::time::sleep(millis(rng.u64(0..3_000))).await;
    }
    tokio::time::sleep(seconds(120)).await;
    for process in &processes {
        process.faults.heal();
    }
    // A lease, and a burst of what was missed.
    tokio::time::sleep(seconds(60)).await;
    let healed = world.now().await;
    tokio::time::sleep(seconds(30)).await;
    let runs = diary.runs();
    let after: Vec<_> = runs.iter().filter(|run| run.due_at > healed).collect();
    assert!(after.len() >= 2, "seed {seed}: it runs again: {after:?}");
    (runs, rerun, misfire)
}

fn judge(seed: u64, runs: &[Run], rerun: bool, misfire: Misfire) {
    let mut starts: BTreeMap<u64, u32> = BTreeMap::new();
    for (one, two) in runs.iter().zip(runs.iter().skip(1)) {
        let case = format!("seed {seed}: {one:?}, then {two:?}");
        assert!(two.token >= one.token, "tokens do not fall; {case}");
        if two.is_rerun {
            assert!(rerun && two.token > one.token, "{case}");
            assert!(two.tick >= one.tick, "{case}");
        } else {
            assert!(two.tick > one.tick, "ticks rise; {case}");
        }
        let apart = two.due_at.since(one.due_at);
        let on_grid = seconds(PERIOD * (two.tick - one.tick));
        assert_eq!(apart, on_grid, "one grid; {case}");
        if two.token == one.token {
            assert!(one.ended.is_some_and(|end| end <= two.began), "{case}");
            if misfire == Misfire::Burst {
                assert_eq!(two.tick, one.tick + 1, "{case}");
            }
        }
    }
    for run in runs {
        let count = starts.entry(run.tick).or_default();
        *count += 1;
        assert!(rerun || *count == 1, "seed {seed}: started twice: {run:?}");
    }
}

#[test]
fn a_hundred_worlds_start_each_tick_once_and_in_order() {
    let (mut total, mut hand_overs, mut reruns) = (0, 0, 0);
    for seed in 0..100 {
        let (runs, rerun, misfire) = alone(world(seed));
        judge(seed, &runs, rerun, misfire);
        total += runs.len();
        hand_overs += runs
            .windows(2)
            .filter(|pair| pair[0].token < pair[1].token)
            .count();
        reruns += runs.iter().filter(|run| run.is_rerun).count();
    }
    assert!(total > 2_000, "{total} runs");
    assert!(hand_overs > 100, "{hand_overs} changes of leader");
    assert!(reruns > 10, "{reruns} ticks were run again");
}
