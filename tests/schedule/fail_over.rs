//! A leader that loses, and a leader that dies at every step.

use tenure::backend::TickState;
use tenure::schedule::{Misfire, ScheduleConfig};
use tenure_testkit::fault::{Call, Fault, Faults};

use super::mortal::Fate;
use super::support::{Diary, Run, World, alone, millis, rate, seconds, until};

const PERIOD: u64 = 5;

#[tokio::test(start_paused = true)]
async fn only_the_leader_runs_and_the_next_one_goes_on() {
    let world = World::new();
    let diary = Diary::new(&world);
    let (first, second) = (world.process(), world.process());
    let one = first
        .scheduler(rate(seconds(PERIOD)))
        .start(diary.job(1, |_| millis(50)))
        .unwrap();
    until(|| diary.runs().len() == 1).await;
    let two = second
        .scheduler(rate(seconds(PERIOD)))
        .start(diary.job(2, |_| millis(50)))
        .unwrap();
    until(|| diary.runs().len() == 4).await;
    assert!(two.status().leading.is_none() && two.status().next_run.is_none());
    one.stop().await.unwrap();
    until(|| diary.runs().len() == 8).await;
    assert_eq!(diary.ticks(), (0..8).collect::<Vec<_>>(), "none is missing");
    let runs = diary.runs();
    assert!(runs[..4].iter().all(|run| run.process == 1));
    assert!(runs[4..].iter().all(|run| run.process == 2));
    assert!(runs[4].token > runs[3].token);
    for run in &runs {
        let on_grid = run.due_at.since(runs[0].due_at);
        assert_eq!(on_grid, seconds(PERIOD * run.tick), "one grid for both");
    }
    assert_eq!(two.status().unfinished, 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_at_loss_and_the_schedule_resumes_with_the_next_term() {
    let world = World::new();
    let diary = Diary::new(&world);
    let process = world.process();
    let handle = process
        .scheduler(rate(seconds(60)))
        .start(diary.job(0, |tick| seconds(60 - 59 * tick.number().min(1))))
        .unwrap();
    until(|| diary.runs().len() == 1).await;
    let first = diary.runs().pop().unwrap();
    process.faults.always(Call::Renew, Fault::Fail);
    until(|| handle.status().cut == 1).await;
    let cut_after = world.clock.now().since(first.began);
    assert!(
        cut_after < seconds(16),
        "before the lease is over: {cut_after:?}"
    );
    process.faults.heal();
    until(|| diary.runs().len() == 2).await;
    let second = diary.runs().pop().unwrap();
    assert_eq!((second.tick, second.is_rerun), (1, false));
    assert!(second.token > first.token);
    assert_eq!(handle.status().unfinished, 1, "reported");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_was_revoked_is_noticed_at_the_claim() {
    let world = World::new();
    let diary = Diary::new(&world);
    let process = world.process();
    let _handle = process
        .scheduler(rate(seconds(2)))
        .start(diary.job(0, |_| millis(10)))
        .unwrap();
    until(|| diary.runs().len() == 2).await;
    let name = tenure::model::MutexName::new(super::support::NAME).unwrap();
    let revoked = tenure::backend::Administration::revoke(&world.store, &name, None);
    assert!(revoked.await.unwrap().is_won());
    until(|| diary.runs().len() == 4).await;
    let runs = diary.runs();
    assert!(runs[2].token > runs[1].token, "under a new grant: {runs:?}");
    assert_eq!(diary.ticks()[..2], [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_misfire_rule_applies_to_fail_over() {
    for misfire in [Misfire::Skip, Misfire::Once, Misfire::Burst] {
        let world = World::new();
        let diary = Diary::new(&world);
        let config = || rate(seconds(1)).with_misfire(misfire);
        let dying = world.process();
        drop(
            dying
                .scheduler(config())
                .start(diary.job(1, |_| millis(10))),
        );
        until(|| diary.runs().len() == 3).await;
        dying.fate.kill();
        let next = world.process();
        drop(next.scheduler(config()).start(diary.job(2, |_| millis(10))));
        until(|| diary.runs().len() >= 5).await;
        let runs = diary.runs();
        let (fresh, then) = (&runs[3], &runs[4]);
        assert_eq!(then.tick, fresh.tick + 1);
        // The lease of 16 s had to run out.
        let gap = fresh.began.since(runs[2].began);
        assert!(gap > seconds(14) && gap < seconds(20), "{gap:?}");
        let late = gap.saturating_sub(fresh.due_at.since(runs[2].due_at));
        match misfire {
            Misfire::Burst => assert_eq!(fresh.tick, 3),
            Misfire::Once => assert!(fresh.tick > 3 && late < seconds(1), "{late:?}"),
            Misfire::Skip => assert!(late < millis(5), "it waited for its tick: {late:?}"),
            other => panic!("{other:?} is not tried here"),
        }
    }
}

/// What became of a schedule whose first leader died.
struct Aftermath {
    runs: Vec<Run>,
    /// How the ledger stood when it died.
    left: Option<(u64, TickState)>,
    unfinished: u64,
    died_at: tenure::clock::Moment,
}

/// Lets the first leader die at this step; `None` when it never comes to it.
async fn die_at(step: u64, config: ScheduleConfig) -> Option<Aftermath> {
    let world = World::new();
    let diary = Diary::new(&world);
    let fate = Fate::dying_at(step);
    let dying = world.make(Faults::new(world.clock.clone()), fate.clone(), step);
    let book = diary.clone();
    let steps = fate.clone();
    let mortal_job = move |tick| {
        let (book, fate) = (book.clone(), steps.clone());
        async move {
            let run = book.begin(1, &tick);
            fate.step().await;
            tokio::time::sleep(millis(700)).await;
            fate.step().await;
            book.end(run);
        }
    };
    drop(dying.scheduler(config.clone()).start(mortal_job).unwrap());
    let next = world.make(Faults::new(world.clock.clone()), Fate::immortal(), step + 1);
    tokio::time::sleep(millis(100)).await;
    let heir = next
        .scheduler(config)
        .start(diary.job(2, |_| millis(700)))
        .unwrap();
    tokio::time::timeout(seconds(24), fate.died()).await.ok()?;
    let died_at = world.clock.now();
    let left = world
        .ledger()
        .await
        .map(|entry| (entry.last_tick, entry.state));
    tokio::time::sleep(seconds(60)).await;
    Some(Aftermath {
        runs: diary.runs(),
        left,
        unfinished: heir.status().unfinished,
        died_at,
    })
}

/// Each step of the first leader from its start to its fifth tick is once its
/// last: before and after every call reaches the store, and in the run.
fn die_everywhere(rerun: bool) {
    let config = || {
        let config = rate(seconds(PERIOD));
        if rerun {
            config.with_rerun_of_unfinished()
        } else {
            config
        }
    };
    let (mut deaths, mut reruns, mut left_open) = (0, 0, 0);
    for step in 0.. {
        let Some(end) = alone(die_at(step, config())) else {
            break;
        };
        deaths += 1;
        let case = format!("step {step}, left {:?}, {:#?}", end.left, end.runs);
        let open = end.left.filter(|(_, state)| *state == TickState::Claimed);
        left_open += u64::from(open.is_some());
        assert_eq!(end.unfinished, u64::from(open.is_some()), "{case}");
        for pair in end.runs.windows(2) {
            let (one, two) = (&pair[0], &pair[1]);
            let again = two.tick == one.tick && two.is_rerun && two.token > one.token;
            assert!(two.tick > one.tick || (rerun && again), "{case}");
            let distance = two.due_at.since(one.due_at);
            assert_eq!(distance, seconds(PERIOD * (two.tick - one.tick)), "{case}");
        }
        reruns += end.runs.iter().filter(|run| run.is_rerun).count() as u64;
        let heirs: Vec<&Run> = end.runs.iter().filter(|run| run.process == 2).collect();
        let first = heirs
            .first()
            .unwrap_or_else(|| panic!("nobody took over: {case}"));
        // A lease, and one period to the next tick of a schedule begun anew.
        let gap = first.began.since(end.died_at);
        assert!(gap < seconds(16 + PERIOD + 1), "{gap:?}: {case}");
        match open {
            Some((tick, _)) if rerun => assert!(first.is_rerun && first.tick == tick, "{case}"),
            Some((tick, _)) => assert!(first.tick > tick, "{case}"),
            None => assert!(!first.is_rerun, "{case}"),
        }
        // From then on every tick, on time.
        let steady = &heirs[2..];
        assert!(steady.len() >= 7, "{case}");
        for pair in steady.windows(2) {
            assert_eq!(pair[1].tick, pair[0].tick + 1, "{case}");
        }
    }
    assert!(deaths > 30, "only {deaths} steps");
    assert!(left_open > 10, "only {left_open} ticks were left open");
    assert_eq!(reruns, if rerun { left_open } else { 0 });
}

#[test]
fn a_leader_may_die_at_any_step() {
    die_everywhere(false);
}

#[test]
fn a_leader_may_die_at_any_step_and_its_tick_is_run_again() {
    die_everywhere(true);
}
