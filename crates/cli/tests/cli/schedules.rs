//! `tenure schedules` and `tenure schedule --preview`: what people see of
//! schedules.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::servers::Redis;

use super::support::{Home, Screen, Started, code, eventually, signal, start, text};

/// Short enough to wait for its end, and long enough for a busy machine: a run
/// that is cut is not run again for an hour.
const LEASE: [&str; 4] = ["--ttl", "2s", "--transition", "4s"];

/// The schedules of the store, as JSON.
fn listed(home: &Home, names: &[&str]) -> Vec<Value> {
    let output = home.output(["schedules", "--output", "json"].iter().chain(names));
    let text = text(&output.stdout);
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON")
}

fn one(home: &Home, name: &str) -> Value {
    let mut all = listed(home, &[name]);
    assert!(all.len() <= 1, "{all:?}");
    all.pop().unwrap_or_default()
}

fn schedule(home: &Home, name: &str, words: &[&str], script: &str) -> Started {
    let mut command = home.tenure(LEASE);
    command.args(["schedule", name]).args(words);
    command.args(["--", "sh", "-c", script]);
    start(command.stderr(Stdio::null()))
}

#[test]
fn a_schedule_is_shown_while_it_runs_and_when_it_has_ended() {
    let home = Home::new();
    let empty = home.output(["schedules"]);
    assert_eq!(empty.status.code(), Some(0), "{empty:?}");
    assert!(text(&empty.stderr).contains("nothing has been scheduled"));
    let wait = "while [ ! -e end ]; do sleep 0.02; done; exit $(cat end)";
    let mut job = schedule(&home, "m", &["--every", "1h"], wait);
    eventually("it runs", || one(&home, "m")["result"] == "running");
    let row = one(&home, "m");
    assert_eq!((&row["run"], &row["plan"]), (&0.into(), &"every 1h".into()));
    assert!(row["begun"].is_string() && row["ended"].is_null(), "{row}");
    assert!(
        row["leader"].is_string() && row["late_ms"].is_u64(),
        "{row}"
    );
    assert!(row["next"].as_str() > row["due"].as_str(), "{row}");
    fs::write(home.path("end"), "0").unwrap();
    eventually("it has ended", || one(&home, "m")["result"] == "done");
    let row = one(&home, "m");
    assert!(
        row["took_ms"].is_u64() && row["overdue_ms"].is_null(),
        "{row}"
    );
    let table = text(&home.output(["schedules"]).stdout);
    for words in ["NAME", "m ", "done", "in 59m", "every 1h"] {
        assert!(table.contains(words), "{words:?} in {table}");
    }
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    signal(&job.0, Signal::TERM);
    assert_eq!(code(&mut job.0), Some(143));
    assert!(one(&home, "m")["leader"].is_null());
}

#[test]
fn a_plan_that_is_too_long_for_the_terminal_is_cut() {
    let home = Home::new();
    let cron = [
        "--cron",
        "30 2 * * mon,tue,wed,thu,fri",
        "--tz",
        "America/Argentina/Buenos_Aires",
    ];
    let _job = schedule(&home, "a-long-name-of-a-schedule", &cron, "");
    eventually("it is planned", || {
        one(&home, "a-long-name-of-a-schedule")["result"] == "planned"
    });
    let whole = text(&home.output(["schedules"]).stdout);
    assert!(
        whole.contains("Buenos_Aires"),
        "into a pipe it is whole: {whole}"
    );
    let screen = Screen::show(&home, "stty cols 80; $TENURE schedules");
    let seen = screen.sees("…");
    assert!(!seen.contains("Buenos_Aires"), "{seen}");
}

#[test]
fn every_result_has_its_word() {
    let home = Home::new();
    let _planned = schedule(
        &home,
        "a-planned",
        &["--delay", "1h", "--initial-delay", "2h"],
        "",
    );
    let _failed = schedule(&home, "b-failed", &["--every", "1h"], "exit 3");
    let unfinished = schedule(
        &home,
        "c-unfinished",
        &["--every", "1h"],
        "echo > begun; exec cat",
    );
    home.line("begun");
    signal(&unfinished.0, Signal::KILL);
    let done = ["run", "--once-per", "1h", "d-once", "--", "true"];
    assert_eq!(home.output(done).status.code(), Some(0));
    let expected = [
        ("a-planned", "planned", "1h after each run"),
        ("b-failed", "failed", "every 1h"),
        ("c-unfinished", "unfinished", "every 1h"),
        ("d-once", "done", "once in a period"),
    ];
    eventually("all have their words", || {
        let all = listed(&home, &[]);
        let told = all.iter().map(|row| {
            let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            (word("name"), word("result"), word("plan"))
        });
        let told: Vec<_> = told.collect();
        let told = told.iter().map(|(a, b, c)| (&**a, &**b, &**c));
        told.eq(expected)
    });
    let none = home.output(["schedules", "never", "b-failed"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    assert!(
        text(&none.stderr).contains("never has never been"),
        "{none:?}"
    );
    assert!(text(&none.stdout).contains("b-failed"), "{none:?}");
}

#[test]
fn a_run_that_is_later_than_the_limit_is_skipped_and_shown() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    let words = ["--every", "1h", "--late-limit", "10m"];
    let note = "echo $TENURE_RUN >> runs";
    let mut job = schedule(&home, "m", &words, note);
    eventually("it has run", || one(&home, "m")["result"] == "done");
    signal(&job.0, Signal::TERM);
    assert_eq!(code(&mut job.0), Some(143));
    // As if that had been an hour and a half ago.
    let earlier = ["HINCRBY", "simba:{m}:schedule", "due_at", "-5400000"];
    server.command(&earlier).unwrap();
    let overdue = one(&home, "m")["overdue_ms"].as_u64();
    assert!(overdue > Some(1_700_000), "{overdue:?}");
    let mut job = schedule(&home, "m", &words, note);
    eventually("it is skipped", || one(&home, "m")["result"] == "skipped");
    let row = one(&home, "m");
    assert_eq!(row["run"], 1);
    assert!(row["begun"].is_null() && row["took_ms"].is_null(), "{row}");
    assert_eq!(fs::read_to_string(home.path("runs")).unwrap(), "0\n");
    signal(&job.0, Signal::TERM);
    assert_eq!(code(&mut job.0), Some(143));
    // Without a limit it would have been run: the next one, a quarter of an
    // hour late.
    let earlier = ["HINCRBY", "simba:{m}:schedule", "due_at", "-2700000"];
    server.command(&earlier).unwrap();
    let _job = schedule(&home, "m", &["--every", "1h"], note);
    eventually("it is run", || one(&home, "m")["result"] == "done");
    assert!(one(&home, "m")["late_ms"].as_u64() > Some(800_000));
}

#[test]
fn one_damaged_ledger_hides_no_other() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    let _job = schedule(&home, "good", &["--every", "1h"], "");
    eventually("it has run", || one(&home, "good")["result"] == "done");
    let bad = "simba:{bad\x1b[2J}:schedule";
    server.command(&["HSET", bad, "plan", "\x1b[2J"]).unwrap();
    let shown = home.output(["schedules"]);
    assert_eq!(shown.status.code(), Some(65), "{shown:?}");
    let (out, err) = (text(&shown.stdout), text(&shown.stderr));
    assert!(out.contains("good") && out.contains("bad"), "{out}");
    assert!(
        err.contains("is damaged") && err.contains("begins anew"),
        "{err}"
    );
    assert!(!out.contains('\x1b') && !err.contains('\x1b'), "{out}{err}");
}

#[test]
fn a_preview_tells_the_next_runs_and_asks_no_store() {
    let home = Home::at("redis://127.0.0.1:1");
    let cron = ["--cron", "30 2 * * *", "--tz", "Europe/Zurich"];
    let mut words = vec!["schedule", "--preview", "400", "--output", "json"];
    words.extend(cron);
    let output = home.output(&words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text_of = text(&output.stdout);
    let runs: Vec<Value> = text_of
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(runs.len(), 400);
    assert_eq!(runs[399]["run"], 400);
    // A year and a month have one change of the clocks each way, or two.
    let marked = |word: &str| runs.iter().filter(|run| run["change"] == word).count();
    assert!(
        (1..=2).contains(&marked("stands-in")),
        "{}",
        marked("stands-in")
    );
    assert!(
        (1..=2).contains(&marked("first-only")),
        "{}",
        marked("first-only")
    );
    for run in &runs {
        let local = run["local"].as_str().unwrap();
        let hour = if run["change"] == "stands-in" {
            "T03:00:00+02:00"
        } else {
            "T02:30:00+0"
        };
        assert!(local.contains(hour), "{run}");
    }
    let people = home.output([
        "schedule",
        "m",
        "--every",
        "90s",
        "--preview",
        "2",
        "--",
        "true",
    ]);
    let said = text(&people.stdout);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.contains("Z  in 0ms") && said.contains("in 1m 30s"),
        "{said}"
    );
    for wrong in [
        &["schedule", "m", "--every", "1s"][..],
        &["schedule", "--every", "1s", "--", "true"],
    ] {
        assert_eq!(home.output(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let zero = home.output(["schedule", "--every", "1s", "--preview", "0"]);
    assert_eq!(zero.status.code(), Some(2));
}

#[test]
fn details_say_who_leads_and_what_is_next() {
    let home = Home::new();
    let follow = |file: &str| {
        let mut command = home.tenure(LEASE);
        command.args(["-v", "schedule", "m", "--every", "1h", "--", "true"]);
        let log = fs::File::create(home.path(file)).unwrap();
        start(command.stderr(log))
    };
    let said = |file: &str, words: &str| {
        fs::read_to_string(home.path(file)).is_ok_and(|text| text.contains(words))
    };
    let mut first = follow("first");
    eventually("it leads", || {
        said("first", "m: led here; run 1 is next, at 2")
    });
    let _second = follow("second");
    eventually("the other says who leads", || said("second", "m: led by "));
    assert!(!said("second", "led here"));
    signal(&first.0, Signal::TERM);
    assert_eq!(code(&mut first.0), Some(143));
    eventually("it leads", || said("second", "m: led here; run 1 is next"));
}

#[test]
fn status_says_which_are_schedules_and_which_are_reentrant_locks() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    let run = |words: &[&str]| server.command(words).unwrap();
    run(&["HSET", "stock", "a-client:7", "2"]);
    run(&["PEXPIRE", "stock", "600000"]);
    run(&["SET", "redisson_lock_token:{stock}", "5"]);
    // Redisson's plain locks have no token, and look like any other hash.
    run(&["HSET", "plain", "a-client:8", "1"]);
    run(&["PEXPIRE", "plain", "600000"]);
    run(&["HSET", "settings", "colour", "blue"]);
    let _job = schedule(&home, "tidy", &["--every", "1h"], "");
    eventually("it has run", || one(&home, "tidy")["result"] == "done");
    let shown = home.output(["status"]);
    let out = text(&shown.stdout);
    assert!(
        out.contains("stock is a reentrant lock, held 2 times"),
        "{out}"
    );
    assert!(out.contains("tidy is a schedule, next due 2"), "{out}");
    assert!(!out.contains("plain") && !out.contains("settings"), "{out}");
    let words = ["status", "--output", "json", "plain", "settings", "tidy"];
    let out = text(&home.output(words).stdout);
    let rows: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 3, "{out}");
    assert_eq!(
        (&rows[0]["kind"], &rows[0]["holds"]),
        (&"reentrant".into(), &1.into())
    );
    assert_eq!(rows[0]["owner"], "a-client:8");
    assert!(
        rows[1]["kind"].is_null() && rows[1]["owner"].is_null(),
        "{out}"
    );
    assert_eq!(rows[2]["kind"], "schedule");
    assert!(rows[2]["next_run"].is_string(), "{out}");
}
