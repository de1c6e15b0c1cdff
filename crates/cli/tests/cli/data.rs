//! What is written to stdout for programs: names of fields, kinds of values.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::{Home, start, text};

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The line with what differs from run to run replaced by its kind.
fn shape(line: &str, changing: &[&str]) -> String {
    let mut value = parsed(line);
    for key in changing {
        let kind = match &value[key] {
            Value::String(text) if text.parse::<u64>().is_ok() => "number in a string",
            Value::String(text) if text.ends_with('Z') && text.contains('T') => "time",
            Value::String(_) => "text",
            Value::Number(_) => "number",
            other => panic!("{key} is {other} in {line}"),
        };
        value[key] = json!(kind);
    }
    // In the order in which they were written.
    let keys: Vec<&str> = line.split('"').collect();
    let mut fields: Vec<(&String, &Value)> = value.as_object().unwrap().iter().collect();
    fields.sort_by_key(|(key, _)| keys.iter().position(|word| word == key));
    let told: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    told.join(" ")
}

#[test]
fn status_tells_owner_token_and_times() {
    let home = Home::new();
    let _holder = start(
        home.tenure([
            "--id",
            "me",
            "run",
            "m",
            "--",
            "sh",
            "-c",
            "echo > held; exec cat",
        ])
        .stdin(Stdio::piped()),
    );
    home.line("held");
    let output = home.output(["status", "--output", "json", "m", "never"]);
    assert_eq!(output.status.code(), Some(0));
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        shape(lines[0], &["owner", "token", "since", "held_ms", "left_ms"]),
        r#"name="m" owner="text" token="number in a string" since="time" held_ms="number" left_ms="number" waiters=[] kind="lock""#
    );
    assert!(
        parsed(lines[0])["owner"]
            .as_str()
            .unwrap()
            .starts_with("me/")
    );
    assert_eq!(
        lines[1],
        r#"{"name":"never","owner":null,"token":null,"since":null,"held_ms":null,"left_ms":null,"waiters":[]}"#
    );
    let table = text(&home.output(["status"]).stdout);
    assert!(
        table.starts_with("NAME") && table.contains("me/"),
        "{table}"
    );
}

#[test]
fn watch_tells_every_change() {
    let home = Home::new();
    let mut watch = start(
        home.tenure(["watch", "m", "--output", "json"])
            .stdout(Stdio::piped()),
    );
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    // Held until it has been seen: what is over before a look is not told.
    let mut holder = start(home.tenure(["run", "m", "--", "cat"]).stdin(Stdio::piped()));
    assert_eq!(
        shape(&next(), &["at", "owner", "token"]),
        r#"at="time" name="m" event="acquired" owner="text" token="number in a string" before=null"#
    );
    drop(holder.0.stdin.take());
    assert_eq!(
        shape(&next(), &["at", "before"]),
        r#"at="time" name="m" event="released" owner=null token=null before="text""#
    );
}

#[test]
fn revoke_asks_and_tells_what_it_did() {
    let home = Home::new();
    let asked = home.output(["revoke", "m"]);
    assert_eq!(asked.status.code(), Some(2), "nobody is there to be asked");
    assert!(text(&asked.stderr).contains("--yes"));

    let holder = start(
        home.tenure([
            "run",
            "m",
            "--",
            "sh",
            "-c",
            "echo $TENURE_TOKEN > token; exec cat",
        ])
        .stdin(Stdio::piped()),
    );
    let token = home.line("token");
    let other = home.output(["revoke", "m", "--yes", "--token", "1"]);
    assert_eq!(
        other.status.code(),
        Some(1),
        "another token's is left alone"
    );
    let done = home.output([
        "revoke", "m", "--yes", "--token", &token, "--output", "json",
    ]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(
        shape(text(&done.stdout).trim(), &["owner", "token"]),
        r#"name="m" revoked=true owner="text" token="number in a string""#
    );
    let next = home.output(["run", "-n", "m", "--", "true"]);
    assert_eq!(next.status.code(), Some(0));
    drop(holder);
}

#[cfg(feature = "all-stores")]
#[test]
fn init_prints_the_permissions_of_a_redis_user() {
    let home = Home::new();
    let url = "redis+cluster://app:s3cret@nowhere?prefix=app:";
    let printed = home.output(["init", "--print", "--url", url]);
    assert_eq!(printed.status.code(), Some(0), "it asks no server");
    let printed = text(&printed.stdout);
    let begin = "user app on >secret resetkeys resetchannels -@all ~app:* &app:* +evalsha ";
    assert!(
        printed.lines().any(|line| line.starts_with(begin)),
        "{printed}"
    );
    assert!(!printed.contains("s3cret"));
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let home = Home::new();
    for words in [
        &["completions", "bash"][..],
        &["completions", "zsh"],
        &["man"],
        &["--help"],
    ] {
        let page = text(&home.output(words).stdout);
        for command in [
            "run",
            "lead",
            "schedule",
            "status",
            "watch",
            "revoke",
            "doctor",
            "init",
            "demo",
            "dashboard",
        ] {
            assert!(
                page.to_lowercase().contains(command),
                "{words:?} lacks {command}"
            );
        }
        for hidden in ["__gate", "__guardian", "__contender"] {
            assert!(!page.contains(hidden), "{words:?} shows {hidden}");
        }
    }
}
