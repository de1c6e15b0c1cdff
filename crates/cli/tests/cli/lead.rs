//! `tenure lead`: one command runs among many contenders.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::Signal;

use super::support::{Home, SHORT, Started, code, eventually, is_running, signal, start};

fn leader(home: &Home, name: &str) -> Started {
    let script = format!("echo {name} $TENURE_TOKEN >> terms; echo $$ > {name}; exec sleep 1000");
    let mut command = home.tenure(SHORT);
    start(command.args(["-q", "lead", "m", "--", "sh", "-c", &script]))
}

/// Who led, with which token, in order.
fn terms(home: &Home) -> Vec<(String, u64)> {
    let text = fs::read_to_string(home.path("terms")).unwrap_or_default();
    let term = |line: &str| {
        let (name, token) = line.split_once(' ')?;
        Some((name.to_owned(), token.parse().ok()?))
    };
    text.lines().filter_map(term).collect()
}

#[test]
fn a_killed_leader_is_replaced_and_tokens_rise() {
    let home = Home::new();
    let one = leader(&home, "one");
    let first = home.pid("one");
    let mut two = leader(&home, "two");
    signal(&one.0, Signal::KILL);
    let second = home.pid("two");
    assert!(!is_running(first) && is_running(second));
    let terms = terms(&home);
    assert!(terms.len() >= 2, "{terms:?}");
    assert!(terms.is_sorted_by(|a, b| a.1 < b.1), "{terms:?}");
    assert!(
        terms.is_sorted_by(|a, b| a.0 <= b.0),
        "one, then two: {terms:?}"
    );
    signal(&two.0, Signal::TERM);
    assert_eq!(code(&mut two.0), Some(143));
    assert!(!is_running(second));
}

#[test]
fn a_leader_that_is_told_to_end_resigns() {
    let home = Home::new();
    // Long terms: the successor must not have to wait for them.
    let lead = |name: &str| {
        let script = format!("echo $$ > {name}; exec sleep 1000");
        start(
            home.tenure(["--ttl", "40s", "lead", "m", "--", "sh", "-c", &script])
                .stderr(Stdio::null()),
        )
    };
    let mut one = lead("one");
    home.pid("one");
    let _two = lead("two");
    signal(&one.0, Signal::TERM);
    assert_eq!(code(&mut one.0), Some(143));
    home.pid("two");
}

#[test]
fn a_command_that_exits_is_started_again_unless_once() {
    let home = Home::new();
    let mut again = start(&mut home.tenure([
        "-q",
        "lead",
        "m",
        "--",
        "sh",
        "-c",
        "echo x >> starts; exit 1",
    ]));
    eventually("it was started three times", || {
        fs::read_to_string(home.path("starts")).is_ok_and(|text| text.lines().count() >= 3)
    });
    signal(&again.0, Signal::TERM);
    assert!(matches!(code(&mut again.0), Some(143 | 1)));

    let once = home.output(["-q", "lead", "--once", "m", "--", "sh", "-c", "exit 9"]);
    assert_eq!(once.status.code(), Some(9));
}

#[test]
fn a_deposed_leader_stops_its_command_and_stands_again() {
    let home = Home::new();
    let mut leader = leader(&home, "one");
    let first = home.pid("one");
    let revoked = home.output(["revoke", "m", "--yes"]);
    assert_eq!(revoked.status.code(), Some(0));
    eventually("it leads again", || terms(&home).len() >= 2);
    assert!(!is_running(first));
    let terms = terms(&home);
    assert!(terms.is_sorted_by(|a, b| a.1 < b.1), "{terms:?}");
    signal(&leader.0, Signal::TERM);
    assert_eq!(code(&mut leader.0), Some(143));
}

/// What the leader at `address` says.
fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_neighbour_can_ask_who_leads() {
    let home = Home::new();
    let lead = |name: &str| {
        let script = format!("echo > {name}; exec sleep 1000");
        let mut command = home.tenure(["-v", "--id", name, "lead", "m", "--http", "127.0.0.1:0"]);
        command.args(["--", "sh", "-c", &script]);
        let mut started = start(command.stderr(Stdio::piped()));
        let lines = BufReader::new(started.0.stderr.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let line = lines.find(|line| line.contains("http://")).unwrap();
        // The test must go on listening, or what it says next would end it.
        std::thread::spawn(move || lines.for_each(drop));
        let address = line.split("http://").nth(1).unwrap();
        (started, address.trim_end_matches('/').to_owned())
    };
    let (_one, first) = lead("one");
    eventually("it leads", || home.path("one").exists());
    let (_two, second) = lead("two");
    let answer = ask(&first, "/leader");
    assert!(
        answer.contains(r#""leading":true"#) && answer.contains("one/"),
        "{answer}"
    );
    eventually("the other knows it too", || {
        let answer = ask(&second, "/leader");
        answer.contains(r#""leading":false"#) && answer.contains("one/")
    });
    assert!(ask(&second, "/healthz").starts_with("HTTP/1.1 200 OK"));
    assert!(ask(&second, "/nothing").starts_with("HTTP/1.1 404"));
}

/// A signal that asks a program to read its settings again is no wish to end.
#[test]
fn after_a_sighup_the_command_is_started_again() {
    let home = Home::new();
    let script = "trap 'exit 3' HUP; echo $$ >> starts; while :; do sleep 0.02; done";
    // What is ignored stays so, and under nohup, where tests may run, this signal is.
    let mut lead = home.command("env");
    lead.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_tenure")]);
    let mut leader = start(lead.args(["lead", "m", "--", "sh", "-c", script]));
    let starts = || {
        let text = std::fs::read_to_string(home.path("starts")).unwrap_or_default();
        text.lines().count()
    };
    for count in 1..4 {
        eventually("it is started", || starts() == count);
        signal(&leader.0, Signal::HUP);
    }
    signal(&leader.0, Signal::TERM);
    assert!(matches!(code(&mut leader.0), Some(143 | 3)));
}
