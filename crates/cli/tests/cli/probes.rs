//! What Prometheus and Kubernetes ask of a running command.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use crate::support::{Home, Started, eventually, start};

/// A started command and where it answers.
fn probed(home: &Home, words: &[&str]) -> (Started, String) {
    let mut command = home.tenure(["-v"]);
    let mut started = start(command.args(words).stderr(Stdio::piped()));
    let lines = BufReader::new(started.0.stderr.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let line = lines.find(|line| line.contains("answering on http://"));
    // Somebody must go on listening, or what it says next would end it.
    std::thread::spawn(move || lines.for_each(drop));
    let line = line.unwrap();
    let address = line.split("http://").nth(1).unwrap();
    (started, address.trim_end_matches('/').to_owned())
}

fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_run_tells_what_it_holds() {
    let home = Home::new();
    let words = ["run", "m", "--http", "127.0.0.1:0", "--", "sleep", "1000"];
    let (_run, address) = probed(&home, &words);
    eventually("it holds", || {
        let held = "tenure_held{mutex=\"m\",purpose=\"lock\"} 1\n";
        ask(&address, "/metrics").contains(held)
    });
    let metrics = ask(&address, "/metrics");
    for line in [
        "# TYPE tenure_store_call_seconds histogram",
        "tenure_stores_in_trouble{store=\"sqlite\"} 0",
        "tenure_acquisitions_total{mutex=\"m\",purpose=\"lock\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert!(ask(&address, "/healthz").starts_with("HTTP/1.1 200 OK"));
    assert!(ask(&address, "/readyz").starts_with("HTTP/1.1 200 OK"));
    assert!(ask(&address, "/leader").starts_with("HTTP/1.1 404"));
}

#[test]
fn a_schedule_tells_of_its_runs() {
    let home = Home::new();
    let words = [
        "schedule",
        "m",
        "--every",
        "200ms",
        "--http",
        "127.0.0.1:0",
        "--",
        "true",
    ];
    let (_schedule, address) = probed(&home, &words);
    eventually("it has run", || {
        let metrics = ask(&address, "/metrics");
        metrics.contains("tenure_schedule_runs_total{outcome=\"done\",schedule=\"m\"}")
            && metrics.contains("tenure_leading{mutex=\"m\",purpose=\"schedule\"} 1\n")
            && metrics.contains("tenure_schedule_last_success_timestamp_seconds{schedule=\"m\"}")
    });
}

#[test]
fn who_waits_for_its_store_is_alive_and_not_ready() {
    let home = Home::new();
    // Nobody listens on the port of nothing.
    let url = "redis://127.0.0.1:1/";
    let words = [
        "--url",
        url,
        "lead",
        "m",
        "--http",
        "127.0.0.1:0",
        "--",
        "true",
    ];
    let (_lead, address) = probed(&home, &words);
    assert!(ask(&address, "/healthz").starts_with("HTTP/1.1 200 OK"));
    assert!(ask(&address, "/readyz").starts_with("HTTP/1.1 503"));
    // It will know who leads, and does not yet.
    assert!(ask(&address, "/leader").starts_with("HTTP/1.1 503"));
}

#[test]
fn the_dashboard_is_ready_when_its_store_is() {
    let home = Home::new();
    let words = [
        "dashboard",
        "--listen",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ];
    let (_dashboard, address) = probed(&home, &words);
    eventually("its store has answered", || {
        ask(&address, "/readyz").starts_with("HTTP/1.1 200")
    });
    let store = home.path("tenure/tenure.db");
    std::fs::rename(&store, home.path("away")).unwrap();
    std::fs::write(&store, "this is no database, and was put in its place").unwrap();
    eventually("its store is in trouble", || {
        ask(&address, "/readyz").starts_with("HTTP/1.1 503")
    });
    assert!(ask(&address, "/healthz").starts_with("HTTP/1.1 200"));
}

#[test]
fn whom_others_can_ask_says_so() {
    let home = Home::new();
    let mut command = home.tenure(["run", "m", "--http", "0.0.0.0:0", "--", "true"]);
    let said = command.output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("--http has no password"), "{said}");
}
