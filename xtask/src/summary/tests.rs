//! Recorded output of cargo, and what is counted from it.

use super::*;

fn read(output: &str) -> Summary {
    let mut summary = Summary::default();
    output.lines().for_each(|line| summary.line(line));
    summary
}

const PASSING: &str = "\
   Compiling tenure v0.1.0 (/home/me/tenure)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 4.51s
     Running unittests src/lib.rs (target/debug/deps/tenure-8ff0c2b1d7a1e1f0)

running 2 tests
test model::name::tests::an_empty_name_is_refused ... ok
test model::name::tests::a_long_name_is_refused ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/engine/main.rs (target/debug/deps/engine-0a1b2c3d4e5f6071)

running 3 tests
test a_dead_waiter_is_skipped ... ok
test slow ... ignored
test a_release_wakes_the_next ... ok

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.31s

   Doc-tests tenure

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

const FAILING: &str = "\
     Running unittests src/main.rs (target/debug/deps/xtask-11d1bb29a1b0ffae)

running 1 test
test it_fails ... FAILED

failures:

---- it_fails stdout ----
test result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
assertion failed: false

failures:
    it_fails

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p xtask --bin xtask`
error: 1 target failed:
    `-p xtask --bin xtask`
";

const CRASHING: &str = "\
     Running tests/servers.rs (target/debug/deps/servers-5c2f38a4f1c1c4a8)

running 2 tests
error: test failed, to rerun pass `-p tenure-testkit --test servers`

Caused by:
  process didn't exit successfully: `target/debug/deps/servers-5c2f38a4f1c1c4a8` (signal: 6, SIGABRT)
     Running unittests src/lib.rs (target/debug/deps/tenure-8ff0c2b1d7a1e1f0)

running 1 test
test one ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

#[test]
fn every_target_is_counted_by_name() {
    let mut summary = read(PASSING);
    summary.end("cargo test", true);
    assert!(summary.is_success());
    assert_eq!((summary.ignored(), summary.filtered()), (1, 4));
    assert_eq!(
        summary.to_string(),
        "    ok  tenure (unittests src/lib.rs): 2 passed, 0 failed\n    \
             ok  engine (tests/engine/main.rs): 2 passed, 0 failed, 1 ignored, 4 filtered out\n\
         4 passed, 0 failed\n"
    );
}

#[test]
fn colours_do_not_hide_a_target() {
    let mut summary = Summary::default();
    summary.line("\u{1b}[1m\u{1b}[92m     Running\u{1b}[0m tests/a.rs (target/debug/deps/a-0123)");
    summary.line("running 1 test");
    summary.line("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
    summary.end("cargo test", true);
    assert!(
        summary.to_string().contains("a (tests/a.rs): 1 passed"),
        "{summary}"
    );
}

#[test]
fn a_failure_fails_the_run() {
    let mut summary = read(FAILING);
    summary.end("cargo test", false);
    assert!(!summary.is_success());
    let text = summary.to_string();
    assert!(
        text.contains(
            "FAILED  xtask (unittests src/main.rs): 0 passed, 1 failed\n        it_fails\n"
        ),
        "{text}"
    );
    // The line in the failed test's own output is not a result.
    assert_eq!(
        summary.to_string().lines().last(),
        Some("0 passed, 1 failed")
    );
}

#[test]
fn a_target_that_dies_counts_as_failed() {
    let mut summary = read(CRASHING);
    summary.end("cargo test", false);
    assert!(!summary.is_success());
    assert_eq!((summary.passed(), summary.failed()), (1, 1));
    assert!(
        summary
            .to_string()
            .contains("servers (tests/servers.rs): 0 passed, 1 failed (ended")
    );
}

#[test]
fn a_compile_error_counts_as_failed() {
    let mut summary = read("error[E0425]: cannot find value `x` in this scope\n");
    summary.end("cargo test", false);
    assert_eq!(
        summary.to_string().lines().last(),
        Some("0 passed, 1 failed")
    );
}

#[test]
fn an_unexplained_failure_counts_after_another_command_failed() {
    let mut summary = read(FAILING);
    summary.end("cargo test", false);
    assert!(!summary.is_cut_short());
    summary.line("error[E0425]: cannot find value `x` in this scope");
    summary.end("cargo test --doc", false);
    assert!(summary.is_cut_short());
    assert_eq!(summary.failed(), 2);
}

#[test]
fn a_run_without_tests_is_no_success() {
    let mut summary = read(
        "   Doc-tests tenure\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
    );
    summary.end("cargo test", true);
    assert!(!summary.is_success());
    assert_eq!(summary.to_string(), "0 passed, 0 failed\n");
}

#[test]
fn examples_count_as_tests() {
    let mut summary = Summary::default();
    summary.example("lock", true);
    summary.end("cargo test", true);
    assert!(summary.is_success());
    summary.example("leader", false);
    assert!(!summary.is_success());
    assert_eq!(
        summary.to_string().lines().last(),
        Some("1 passed, 1 failed")
    );
}

/// The output of a program with one failed test that says this.
fn failing(said: &str) -> Summary {
    let mut summary = Summary::default();
    summary.begin("redis (tests/redis/main.rs)");
    for line in [
        "running 2 tests",
        "test a::well ... ok",
        "test b::ill ... FAILED",
        "---- b::ill stdout ----",
        said,
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
    ] {
        summary.line(line);
    }
    summary.end("redis (tests/redis/main.rs)", false);
    summary
}

#[test]
fn one_that_passes_alone_counts_and_is_named() {
    let mut summary = failing("never: it is started");
    let again = summary.again();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].names, ["b::ill"]);
    assert!(!summary.is_success());
    summary.passed_alone(again[0].clone());
    assert!(summary.is_success());
    let shown = summary.to_string();
    assert!(shown.ends_with("mend it\n2 passed, 0 failed\n"), "{shown}");
}

#[test]
fn what_must_never_be_is_not_run_again() {
    assert!(
        failing("\"a\" and \"b\" both owned \"m\"")
            .again()
            .is_empty()
    );
    assert!(failing("they worked at once").again().is_empty());
}

#[test]
fn many_failures_and_crashes_are_not_run_again() {
    let mut summary = failing("late");
    for number in 0..MOST_AGAIN {
        summary.example(&number.to_string(), false);
    }
    assert!(summary.again().is_empty());
    let mut crashed = Summary::default();
    crashed.begin("x");
    crashed.line("running 2 tests");
    crashed.end("x", false);
    assert!(crashed.again().is_empty());
}
