use std::io::{BufRead, BufReader};
use std::panic;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tenure_testkit::servers::{Postgres, Process, Redis, wait};

use crate::runs;

const VICTIM: &str = "TENURE_TEST_IS_THE_VICTIM";

#[test]
fn a_killed_test_process_leaves_nothing_behind() {
    if std::env::var_os(VICTIM).is_some() {
        be_the_victim();
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "orphans::a_killed_test_process_leaves_nothing_behind",
            "--nocapture",
        ])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let servers: Vec<(i32, PathBuf)> = lines
        .filter_map(|line| {
            let (pid, directory) = line.split_once("server ")?.1.split_once(' ')?;
            Some((pid.parse().unwrap(), directory.into()))
        })
        .take(2)
        .collect();
    assert_eq!(servers.len(), 2);
    assert!(
        servers
            .iter()
            .all(|(pid, directory)| runs(*pid) && directory.is_dir())
    );
    victim.kill().unwrap();
    victim.wait().unwrap();
    for (pid, directory) in servers {
        let home = directory.parent().unwrap();
        let gone = home.with_added_extension("gone");
        wait::until_true("the end of an orphan", || !runs(pid)).unwrap();
        wait::until_true("its directory removed", || !home.exists() && !gone.exists()).unwrap();
    }
}

fn be_the_victim() -> ! {
    let (redis, postgres) = (Redis::start().unwrap(), Postgres::start().unwrap());
    let say = |server: &Process| {
        println!(
            "\nserver {} {}",
            server.pid().unwrap(),
            server.directory().display()
        );
    };
    say(&redis);
    say(&postgres);
    loop {
        std::thread::park();
    }
}

#[test]
fn a_panicking_test_leaves_nothing_behind() {
    let redis = Redis::start().unwrap();
    let (pid, directory) = (redis.pid().unwrap(), redis.directory().to_path_buf());
    panic::catch_unwind(panic::AssertUnwindSafe(move || {
        let _redis = redis;
        panic::resume_unwind(Box::new("a test fails"));
    }))
    .unwrap_err();
    assert!(!runs(pid));
    assert!(!directory.exists());
}
