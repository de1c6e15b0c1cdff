//! A short run on real stores: the suite itself works, and what it attacks holds.

use std::process::Command;

use tenure_faults::results::Results;

/// Long enough for some faults each, all four side by side.
const SECONDS: &str = "15";

/// The same choices every time; when what happens then is up to the machine.
const SEED: &str = "7";

fn run(store: &str) {
    let directory = tempfile::tempdir().unwrap();
    let results = directory.path().join("results.json");
    let output = Command::new(env!("CARGO_BIN_EXE_tenure-faults"))
        .args(["--store", store, "--seed", SEED, "--seconds", SECONDS])
        .arg("--results")
        .arg(&results)
        .arg("--reports")
        .arg(directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{store}: {said}{wrong}");
    let results = Results::read(&results).unwrap();
    let [slice] = &results.slices[..] else {
        panic!("{results:?}");
    };
    assert!(slice.grants > 0, "{slice:?}");
    assert!(slice.faults.values().sum::<u64>() >= 1, "{slice:?}");
    assert!(slice.uses > 0 && slice.runs > 0, "{slice:?}");
}

#[test]
fn sqlite_keeps_its_promises() {
    run("sqlite");
}

#[test]
fn redis_keeps_its_promises() {
    run("redis");
}

#[test]
fn postgres_keeps_its_promises() {
    run("postgres");
}

#[test]
fn mariadb_keeps_its_promises() {
    run("mariadb");
}
