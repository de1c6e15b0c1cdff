//! A short run of the whole benchmark: every row is there, and the files can be read. No number is
//! looked at, for this is a debug build on a machine that does other things.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

/// What every store with a server has.
const ON_SERVERS: [&str; 8] = [
    "take-free",
    "server-cpu",
    "hand-over",
    "killed",
    "memory-some",
    "memory-many",
    "connections",
    "waiting-cpu",
];

const SERVERS: [&str; 4] = ["redis", "postgres", "mysql", "zookeeper"];

/// What there is beside it.
const OTHERS: [&str; 17] = [
    "take-free/memory",
    "allocations/memory",
    "take-free/sqlite",
    "hand-over/sqlite",
    "killed/sqlite",
    "memory-some/sqlite",
    "memory-many/sqlite",
    "evalsha/redis",
    "many-names/redis",
    "one-name/redis",
    "fairness/redis",
    "killed-reentrant/redis",
    "server-memory/redis",
    "take-free-on-disk/postgres",
    "take-free-on-disk/mysql",
    "requests/zookeeper",
    "killed/zookeeper",
];

const GROWTH: [&str; 4] = ["held-memory", "held-take", "waiters", "processes"];

fn ids(rows: &Value) -> BTreeSet<String> {
    let rows = rows.as_array().expect("a list").iter();
    rows.map(|row| row["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn a_short_run_has_every_row() {
    let directory = tempfile::tempdir().expect("a directory");
    let [json, chart] = ["r.json", "r.svg"].map(|name| directory.path().join(name));
    let output = Command::new(env!("CARGO_BIN_EXE_tenure-bench"))
        .args(["--quick", "--json"])
        .arg(&json)
        .arg("--chart")
        .arg(&chart)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let text = fs::read_to_string(&json).expect("the results");
    let results: Value = serde_json::from_str(&text).expect("JSON");
    let mut expected: BTreeSet<String> = OTHERS.map(str::to_owned).into();
    for store in SERVERS {
        expected.extend(ON_SERVERS.map(|row| format!("{row}/{store}")));
    }
    assert_eq!(ids(&results["rows"]), expected);
    for row in results["rows"].as_array().expect("a list") {
        for side in row["sides"].as_array().expect("sides") {
            assert!(side["median"].is_number(), "no number in {row}");
        }
    }
    let growth = ids(&results["growth"]);
    for store in SERVERS.into_iter().chain(["sqlite"]) {
        for id in GROWTH.map(|id| format!("{id}/{store}")) {
            assert!(growth.contains(&id), "{id} is not among {growth:?}");
        }
    }
    for store in SERVERS {
        assert!(growth.contains(&format!("held-cpu/{store}")));
    }
    assert_eq!(
        results["plan"].as_array().map(Vec::len),
        Some(SERVERS.len())
    );

    let chart = fs::read_to_string(&chart).expect("the chart");
    assert!(chart.starts_with("<svg ") && chart.ends_with("</svg>\n"));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        table.contains("| take + free, Redis, 1 task, one core |"),
        "{table}"
    );
}
