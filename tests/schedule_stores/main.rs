//! A schedule that goes from process to process, on every server there is.
#![cfg(all(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "sqlite",
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
    // What falls due while there is no leader is made up for: then none is missing.
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

/// The first leader stops before the first run: plan and origin stand.
async fn before_the_first_run(url: &str) {
    const DELAY: Duration = Duration::from_secs(4);
    let plan = |initial| ScheduleConfig::rate(initial, Duration::from_secs(60)).unwrap();
    let (one, two) = (
        Coordinator::connect(url).await.unwrap(),
        Coordinator::connect(url).await.unwrap(),
    );
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let start = |coordinator: &Coordinator| {
        let tell = tell.clone();
        let job = move |tick: Tick| {
            tell.send((tick.number(), tick.due_at())).unwrap();
            async {}
        };
        let scheduler = coordinator.scheduler("first", plan(DELAY)).unwrap();
        scheduler.start(job).unwrap()
    };
    let leads = |handle: &tenure::SchedulerHandle| handle.status().next_run;
    let first = start(&one);
    let end = Instant::now() + PATIENCE;
    let planned = loop {
        if let Some(next) = leads(&first) {
            break next;
        }
        assert!(Instant::now() < end, "the first leads");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let other = two.scheduler("first", plan(DELAY * 2)).unwrap();
    let conflict = other.run(|_| async {}).await.unwrap_err();
    assert_eq!(conflict.kind(), tenure::ErrorKind::Conflict, "{conflict}");
    first.stop().await.unwrap();
    let second = start(&two);
    let run = tokio::time::timeout(PATIENCE, told.recv()).await.unwrap();
    assert_eq!(
        run,
        Some((0, planned.due_at)),
        "the delay did not begin again"
    );
    second.stop().await.unwrap();
    one.close().await.unwrap();
    two.close().await.unwrap();
}

#[tokio::test]
async fn on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("own.db").display());
    story(&url).await;
    before_the_first_run(&url).await;
}

#[tokio::test]
async fn on_redis() {
    let server = Redis::start().unwrap();
    let url = format!("redis://127.0.0.1:{}", server.port());
    story(&url).await;
    before_the_first_run(&url).await;
}

#[tokio::test]
async fn on_mariadb() {
    let server = MariaDb::start().unwrap();
    story(&server.url()).await;
    before_the_first_run(&server.url()).await;
}

#[tokio::test]
async fn on_postgres() {
    let server = Postgres::start().unwrap();
    story(&server.url()).await;
    before_the_first_run(&server.url()).await;
}

#[tokio::test]
async fn on_zookeeper() {
    let server = ZooKeeper::start().unwrap();
    let url = format!("zookeeper://{}", server.address());
    story(&url).await;
    before_the_first_run(&url).await;
}
