//! Only the store's clock counts.

use std::path::Path;

use tenure::Coordinator;
use tenure::clock::Clock;

use super::support::{Diary, NAME, World, millis, rate, seconds, terms, until};

#[tokio::test(start_paused = true)]
async fn a_process_whose_clock_is_an_hour_off_runs_at_the_right_time() {
    let world = World::new();
    let diary = Diary::new(&world);
    let right = world.process();
    let one = right
        .scheduler(rate(seconds(60)))
        .start(diary.job(1, |_| millis(10)))
        .unwrap();
    until(|| diary.runs().len() == 2).await;
    tokio::time::sleep(seconds(3_600)).await;
    // Its clock shows an hour less than the others'.
    let clock = Clock::tokio();
    assert!(world.clock.now().since(clock.now()) > seconds(3_600));
    let builder = Coordinator::builder().clock(clock).terms(terms());
    let wrong = builder.with_backend(world.store.another_client()).unwrap();
    let scheduler = wrong.scheduler(NAME, rate(seconds(60))).unwrap();
    let _two = scheduler.start(diary.job(2, |_| millis(10))).unwrap();
    let count = diary.runs().len();
    until(|| diary.runs().len() > count).await;
    one.stop().await.unwrap();
    until(|| diary.runs().len() > count + 3).await;
    let runs = diary.runs();
    assert_eq!(runs.last().unwrap().process, 2);
    for pair in runs.windows(2) {
        assert_eq!(pair[1].tick, pair[0].tick + 1);
        let apart = pair[1].began.since(pair[0].began);
        assert!(
            apart > millis(59_990) && apart < millis(60_010),
            "{apart:?}"
        );
    }
}

#[test]
fn the_wall_clock_of_this_host_is_not_read() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for folder in ["schedule", "engine", "blocking"] {
        for file in std::fs::read_dir(src.join(folder)).unwrap() {
            let path = file.unwrap().path();
            let Ok(source) = std::fs::read_to_string(&path) else {
                continue; // a folder
            };
            for reading in [
                "SystemTime::now",
                "Timestamp::now",
                "Zoned::now",
                "UNIX_EPOCH.elapsed",
            ] {
                assert!(
                    !source.contains(reading),
                    "{} in {}",
                    reading,
                    path.display()
                );
            }
        }
    }
}
