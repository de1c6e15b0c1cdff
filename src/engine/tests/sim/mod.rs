//! Many machines over a simulated store and network, seeded.
//!
//! Everything is a function of the seed: a failing one is printed and
//! `TENURE_SIM_SEED=<seed> cargo test -p tenure --lib sim -- --nocapture`
//! replays it with a trace of every step. `TENURE_SIM_SEEDS` sets how many
//! worlds there are.
//!
//! What goes wrong in it: requests and answers lost, delayed, doubled and
//! overtaking each other; partitions, both ways and one way; the store down,
//! restarted, restarted empty; processes killed and paused for longer than
//! their lease; hints lost and doubled; local work that does not end; winners
//! that are not polled; clocks whose speeds are up to 0.2 % apart, as promised.

mod chance;
mod judge;
mod process;
mod store;
mod world;

use world::World;

/// Runs `seed` and says what it saw.
fn run(seed: u64, trace: bool) -> Result<world::Tally, String> {
    World::new(seed, trace, world::APART).run()
}

#[test]
fn ten_thousand_worlds_never_have_two_owners() {
    if let Ok(seed) = std::env::var("TENURE_SIM_SEED") {
        let seed = seed.parse().expect("TENURE_SIM_SEED is a number");
        run(seed, true).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        return;
    }
    let seeds: u64 = std::env::var("TENURE_SIM_SEEDS").map_or(10_000, |n| n.parse().unwrap());
    let workers = std::thread::available_parallelism().map_or(2, usize::from) as u64;
    let mut tally = world::Tally::default();
    std::thread::scope(|scope| {
        let shares: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut tally = world::Tally::default();
                    for seed in (worker..seeds).step_by(workers as usize) {
                        match run(seed, false) {
                            Ok(seen) => tally += seen,
                            Err(violation) => panic!("seed {seed}: {violation}"),
                        }
                    }
                    tally
                })
            })
            .collect();
        for share in shares {
            tally += share
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    // A world in which nothing happens proves nothing.
    println!("{tally:?}");
    assert!(tally.begun > seeds * 3, "{tally:?}");
    assert!(tally.lost_by_deadline > seeds / 10, "{tally:?}");
    assert!(tally.after_unknown > seeds / 100, "{tally:?}");
    assert!(tally.released > seeds, "{tally:?}");
    assert!(tally.unclaimed > seeds / 10, "{tally:?}");
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 0..50 {
        assert_eq!(run(seed, false), run(seed, false), "seed {seed}");
    }
}

/// The judge sees it when clocks use up more than the margin: of a lease of one
/// second it is 0.7 %.
#[test]
fn clocks_further_apart_than_the_margin_are_caught() {
    let is_caught = |seed| {
        let judged = World::new(seed, false, 0.02).run();
        judged.is_err_and(|what| what.contains("two owners"))
    };
    assert!((0..1000).any(is_caught));
}
