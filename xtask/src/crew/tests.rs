//! Crews of shell scripts.

use std::path::PathBuf;

use super::*;

const PAIR: Size = Size {
    jobs: 2,
    threads: 7,
};

const ONE_PASSED: &str = "echo running 1 test; echo test a ... ok; \
    echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'";

fn job(name: &str, script: &str) -> Job {
    Job {
        name: name.to_owned(),
        words: ["sh", "-c", script].map(Into::into).to_vec(),
        directory: PathBuf::from("/"),
        ..Job::default()
    }
}

fn summary(jobs: Vec<Job>, size: Size) -> Summary {
    let mut summary = Summary::default();
    run(jobs, size, &mut summary, &mut io::sink());
    summary
}

#[test]
fn every_job_is_counted_under_its_name_whoever_ends_first() {
    let slow = format!("sleep 0.2; {ONE_PASSED}");
    let jobs = vec![
        job("slow (a.rs)", &slow),
        job("quick (b.rs)", ONE_PASSED),
        job("third (c.rs)", ONE_PASSED),
    ];
    let summary = summary(jobs, PAIR);
    assert!(summary.is_success());
    let text = summary.to_string();
    for name in ["slow (a.rs)", "quick (b.rs)", "third (c.rs)"] {
        assert!(text.contains(&format!("ok  {name}: 1 passed")), "{text}");
    }
}

#[test]
fn two_run_at_the_same_time() {
    // Each waits for the other, which a crew of one could not do.
    let directory = crate::scratch::Scratch::new("crew");
    let meet = |mine: &str, other: &str| {
        let path = directory.path().display();
        let wait = format!("until [ -e {path}/{other} ]; do sleep 0.01; done");
        job(mine, &format!("touch {path}/{mine}; {wait}; {ONE_PASSED}"))
    };
    let both = vec![meet("a", "b"), meet("b", "a")];
    assert_eq!(summary(both, PAIR).passed(), 2);
}

#[test]
fn one_that_dies_or_fails_in_silence_fails_the_run() {
    let jobs = vec![
        job("dies", "echo running 2 tests; kill -9 $$"),
        job("fails", "exit 3"),
        job("passes", ONE_PASSED),
    ];
    let summary = summary(jobs, PAIR);
    assert!(!summary.is_success());
    assert_eq!((summary.passed(), summary.failed()), (1, 2));
    assert!(summary.is_cut_short());
}

#[test]
fn one_that_cannot_be_started_fails_the_run() {
    let mut missing = job("missing", "");
    missing.words = vec!["/there/is/no/such/program".into()];
    let summary = summary(vec![missing, job("passes", ONE_PASSED)], PAIR);
    assert_eq!((summary.passed(), summary.failed()), (1, 1));
}

#[test]
fn an_example_passes_by_its_exit_code() {
    let example = |name, script| Job {
        is_example: true,
        ..job(name, script)
    };
    let jobs = vec![example("good", "exit 0"), example("bad", "exit 1")];
    let summary = summary(jobs, PAIR);
    assert_eq!((summary.passed(), summary.failed()), (1, 1));
    assert!(summary.to_string().contains("example bad"), "{summary}");
}

#[test]
fn only_what_computes_gives_way() {
    let program = |name, is_alone| {
        let command = prepared(&job(name, "true"), PAIR, is_alone);
        command.get_program().to_str().map(str::to_owned)
    };
    assert_eq!(program("contention (x)", false).as_deref(), Some("nice"));
    assert_eq!(program("contention (x)", true).as_deref(), Some("sh"));
    assert_eq!(program("redis (x)", false).as_deref(), Some("sh"));
}

#[test]
fn the_output_of_each_stays_together() {
    let script =
        |name: &str| format!("for i in 1 2 3; do echo {name}$i; sleep 0.05; done; {ONE_PASSED}");
    let jobs = vec![job("x", &script("x")), job("y", &script("y"))];
    let mut out = Vec::new();
    run(jobs, PAIR, &mut Summary::default(), &mut out);
    let text = String::from_utf8(out).expect("text");
    assert!(text.contains("x1\nx2\nx3\nrunning 1 test\n"), "{text}");
    assert!(text.contains("y1\ny2\ny3\nrunning 1 test\n"), "{text}");
}

#[test]
fn a_test_that_hangs_is_told_of_at_once() {
    let hangs = "echo test a has been running for over 60 seconds; sleep 0.3; echo end";
    let mut out = Vec::new();
    let jobs = vec![job("x", hangs), job("y", ONE_PASSED)];
    run(jobs, PAIR, &mut Summary::default(), &mut out);
    let text = String::from_utf8(out).expect("text");
    let told = text
        .find("xtask: x: test a has been running")
        .expect("it is told");
    assert!(told < text.find("Running x").expect("its output"), "{text}");
}
