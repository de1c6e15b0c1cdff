//! A schedule that goes from process to process, on every server there is.
#![cfg(all(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tenure::model::{FencingToken, StoreTime};
use tenure::schedule::{Misfire, ScheduleConfig};
use tenure::{Coordinator, Tick};
use tenure_testkit::servers::{MariaDb, Postgres, Redis, ZooKeeper};

const PERIOD: Duration = Duration::from_millis(200);

/// How long anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Run {
    process: u32,
    number: u64,
    due_at: StoreTime,
    token: FencingToken,
}

type Diary = Arc<Mutex<Vec<Run>>>;

async fn until(diary: &Diary, what: &str, is: impl Fn(&[Run]) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is(&diary.lock().unwrap()) {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn start(coordinator: &Coordinator, process: u32, diary: &Diary) -> tenure::SchedulerHandle {
    // What falls due while nobody leads is made up for: then none is missing.
    let config = ScheduleConfig::rate(Duration::ZERO, PERIOD).unwrap();
    let config = config.with_misfire(Misfire::Burst);
    let scheduler = coordinator.scheduler("report", config).unwrap();
    let diary = Arc::clone(diary);
    let job = move |tick: Tick| {
        let diary = Arc::clone(&diary);
        async move {
            let Ok(token) = tick.tenure().token() else {
                return;
            };
            diary.lock().unwrap().push(Run {
                process,
                number: tick.number(),
                due_at: tick.due_at(),
                token,
            });
        }
    };
    scheduler.start(job).unwrap()
}

/// One leads and stops, the next one goes on and its process ends, the third
/// goes on from there.
async fn story(url: &str) {
    let diary = Diary::default();
    let mut coordinators = Vec::new();
    for _ in 0..3 {
        coordinators.push(Coordinator::connect(url).await.unwrap());
    }
    let one = start(&coordinators[0], 1, &diary);
    until(&diary, "the first runs", |runs| runs.len() >= 3).await;
    let _two = start(&coordinators[1], 2, &diary);
    one.stop().await.unwrap();
    until(&diary, "the second runs", |runs| {
        runs.iter().filter(|run| run.process == 2).count() >= 3
    })
    .await;
    let three = start(&coordinators[2], 3, &diary);
    coordinators.remove(1).close().await.unwrap();
    until(&diary, "the third runs", |runs| {
        runs.iter().filter(|run| run.process == 3).count() >= 3
    })
    .await;
    three.stop().await.unwrap();
    for coordinator in coordinators {
        coordinator.close().await.unwrap();
    }
    let runs = diary.lock().unwrap();
    let numbers: Vec<u64> = runs.iter().map(|run| run.number).collect();
    let all: Vec<u64> = (0..runs.len() as u64).collect();
    assert_eq!(numbers, all, "each tick once and in order");
    assert!(runs.is_sorted_by_key(|run| (run.process, run.token)));
    for run in &*runs {
        let due = run.due_at.since(runs[0].due_at);
        let grid = PERIOD * u32::try_from(run.number).unwrap();
        assert_eq!(due, grid, "tick {} of one grid", run.number);
    }
    let tokens = |process| {
        let mut tokens: Vec<_> = runs
            .iter()
            .filter(|run| run.process == process)
            .map(|run| run.token)
            .collect();
        tokens.dedup();
        tokens
    };
    assert!(tokens(1).last() < tokens(2).first());
    assert!(tokens(2).last() < tokens(3).first());
}

#[tokio::test]
async fn on_redis() {
    let server = Redis::start().unwrap();
    story(&format!("redis://127.0.0.1:{}", server.port())).await;
}

#[tokio::test]
async fn on_mariadb() {
    let server = MariaDb::start().unwrap();
    story(&server.url()).await;
}

#[tokio::test]
async fn on_postgres() {
    let server = Postgres::start().unwrap();
    story(&server.url()).await;
}

#[tokio::test]
async fn on_zookeeper() {
    let server = ZooKeeper::start().unwrap();
    story(&format!("zookeeper://{}", server.address())).await;
}
