//! `tenure run`: what it passes through, and how it ends.

use std::io::Write;
use std::net::TcpListener;
use std::process::Stdio;

use super::stores::{Lease, Store, on_every_store};
use super::support::{Home, bounded, eventually, start, text};

#[test]
fn the_exit_code_is_the_commands() {
    let home = Home::new();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        let output = home.output(["run", "m", "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}");
        assert_eq!(text(&output.stderr), "", "{script}");
    }
}

#[test]
fn a_command_that_cannot_be_run_ends_as_in_a_shell() {
    let home = Home::new();
    let missing = home.output(["run", "m", "--", "no-such-command"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("no-such-command"));
    let data = home.output(["run", "m", "--", "/etc/passwd"]);
    assert_eq!(data.status.code(), Some(126));
    let free = home.output(["run", "--no-wait", "m", "--", "true"]);
    assert_eq!(free.status.code(), Some(0), "the lock is free again");
}

#[test]
fn stdin_and_stdout_are_the_commands() {
    let home = Home::new();
    let mut process = home
        .tenure(["run", "m", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut stdin = process.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = process.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.stdout, bytes);
}

#[test]
fn the_command_knows_what_it_holds() {
    let home = Home::new();
    let script = "echo $TENURE_NAME; echo $TENURE_TOKEN; echo $TENURE_CONTENDER";
    let words = ["--id", "me", "run", "some name", "--", "sh", "-c", script];
    let out = text(&home.output(words).stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "some name");
    assert!(lines[1].parse::<u64>().unwrap() > 0);
    assert!(lines[2].starts_with("me/"), "{out}");
}

#[test]
fn the_command_inherits_no_file_of_ours() {
    let home = Home::new();
    let bare = home.command("ls").arg("/proc/self/fd").output().unwrap();
    let under = home.output(["run", "m", "--", "ls", "/proc/self/fd"]);
    assert_eq!(text(&under.stdout), text(&bare.stdout));
}

#[test]
fn tokens_rise_from_run_to_run() {
    let home = Home::new();
    let token = || {
        let output = home.output(["run", "m", "--", "printenv", "TENURE_TOKEN"]);
        text(&output.stdout).trim().parse::<u64>().unwrap()
    };
    let (first, second, third) = (token(), token(), token());
    assert!(first < second && second < third);
}

on_every_store!(who_does_not_get_it_ends_with_75_and_says_who_has_it);

fn who_does_not_get_it_ends_with_75_and_says_who_has_it(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let mutex = home.mutex();
    let script = "echo > held; exec cat";
    let mut holder = start(
        home.tenure(["--id", "holder", "run", mutex, "--", "sh", "-c", script])
            .stdin(Stdio::piped()),
    );
    home.line("held");
    for words in [
        &["run", "-n", mutex][..],
        &["run", "--wait", "100ms", mutex],
    ] {
        let refused = home.output(words.iter().chain(&["--", "touch", "ran"]));
        assert_eq!(refused.status.code(), Some(75), "{refused:?}");
        let said = text(&refused.stderr);
        assert!(said.contains("is held by holder/"), "{said}");
        assert!(!home.path("ran").exists());
    }
    let other = home.output(["run", "-n", &format!("{mutex} other"), "--", "true"]);
    assert_eq!(other.status.code(), Some(0), "another name is free");

    let waiting = start(&mut home.tenure(["run", "--wait", "60s", mutex, "--", "touch", "ran"]));
    drop(holder.0.stdin.take());
    eventually("the waiter runs", || home.path("ran").exists());
    drop(waiting);
}

#[test]
fn a_server_that_is_not_there_ends_with_69_and_is_named() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    for url in [
        format!("redis://:s3cret@127.0.0.1:{port}"),
        format!("mysql://root:s3cret@127.0.0.1:{port}/db"),
        format!("postgres://root:s3cret@127.0.0.1:{port}/db"),
        format!("zookeeper://root:s3cret@127.0.0.1:{port}?session_timeout=1s"),
    ] {
        let home = Home::at(&url);
        for words in [&["run", "m", "--", "touch", "ran"][..], &["status"]] {
            let output = home.output(words);
            assert_eq!(output.status.code(), Some(69), "{url}: {output:?}");
            let said = text(&output.stderr);
            assert!(said.contains(&port.to_string()), "{url}: {said}");
            assert!(!said.contains("s3cret"), "{url}: {said}");
        }
        assert!(!home.path("ran").exists());
    }
}

#[test]
fn mistakes_end_with_2_and_what_must_be_made_first_with_78() {
    let home = Home::new();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["run", "m"], 2, "CMD"),
        (&["run", "m", "--wait", "5", "--", "true"], 2, "500ms"),
        (
            &["run", "m", "--wait", "5s", "-n", "--", "true"],
            2,
            "cannot be used with",
        ),
        (&["run", " m", "--", "true"], 2, "white space"),
        (
            &["run", "--grace", "6s", "m", "--", "true"],
            2,
            "shorter than the transition",
        ),
        (&["run", "--url", "nope:x", "m", "--", "true"], 2, "sqlite"),
        (
            &["run", "--url", "sqlite:x?colour=red", "m", "--", "true"],
            2,
            "busy_timeout",
        ),
        (
            &["run", "--url", "sqlite:/no/such/place/x", "m", "--", "true"],
            78,
            "/no/such/place",
        ),
    ];
    for (words, code, message) in cases {
        let output = home.output(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains(message), "{words:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{words:?}");
    }
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let home = Home::new();
    std::fs::write(
        home.path("c.toml"),
        "url = 'sqlite:file.db'\nid = 'from-file'\n",
    )
    .unwrap();
    let contender = |words: &[&str], url: Option<&str>| {
        let mut command = home.tenure(words);
        command.args(["run", "m", "--", "printenv", "TENURE_CONTENDER"]);
        if let Some(url) = url {
            command.env("TENURE_URL", url);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    assert!(contender(&["--config", "c.toml"], None).starts_with("from-file/"));
    assert!(home.path("file.db").exists());
    let id = contender(
        &["--config", "c.toml", "--id", "flag"],
        Some("sqlite:env.db"),
    );
    assert!(id.starts_with("flag/") && home.path("env.db").exists());
    contender(&["--url", "sqlite:flag.db"], Some("sqlite:other.db"));
    assert!(home.path("flag.db").exists() && !home.path("other.db").exists());
    assert!(
        !home.path("tenure").exists(),
        "the default file was not touched"
    );
}

#[test]
fn a_run_inside_a_run_of_the_same_name_does_not_wait_for_itself() {
    let home = Home::new();
    let inner = "\"$TENURE\" run m -- true";
    let output = home.output(["run", "m", "--", "sh", "-c", inner]);
    assert_eq!(output.status.code(), Some(75), "{output:?}");
    assert!(text(&output.stderr).contains("it would wait for itself for ever"));
    let around = "\"$TENURE\" run b -- \"$TENURE\" run a -- true";
    let output = home.output(["run", "a", "--", "sh", "-c", around]);
    assert_eq!(output.status.code(), Some(75), "also with another between");
    let other = home.output([
        "run",
        "m",
        "--",
        "sh",
        "-c",
        "\"$TENURE\" run other -- true",
    ]);
    assert_eq!(other.status.code(), Some(0), "another name is no trouble");
}

#[test]
fn nor_does_a_leader_or_a_schedule_inside_a_run_wait_for_itself() {
    let home = Home::new();
    for inner in ["lead m -- true", "schedule m --every 1s -- true"] {
        let inner = format!("\"$TENURE\" {inner}");
        let output = home.output(["run", "m", "--", "sh", "-c", &inner]);
        assert_eq!(output.status.code(), Some(75), "{inner}: {output:?}");
        let said = text(&output.stderr);
        assert!(said.contains("it would wait for itself for ever"), "{said}");
    }
    // One of them around it is as good as a run.
    let output = home.output([
        "lead",
        "--once",
        "m",
        "--",
        "sh",
        "-c",
        "\"$TENURE\" lead m -- true",
    ]);
    assert_eq!(output.status.code(), Some(75), "{output:?}");
}

/// However short it is willing to wait, it asks once, and hears the answer.
#[test]
fn a_free_lock_is_had_by_who_waits_for_a_millisecond() {
    let home = Home::new();
    for _ in 0..10 {
        let output = home.output(["run", "--wait", "1ms", home.mutex(), "--", "true"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(text(&output.stderr), "");
    }
}

/// As a container's first process it is the parent of every orphan there.
#[test]
fn as_the_first_process_of_a_container_it_collects_the_dead() {
    let home = Home::new();
    let script = "for i in 1 2 3 4 5; do (sh -c 'exit 0' &); done; (sleep 1000 &); \
                  while ls /proc/*/stat | xargs -n1 cat 2>/dev/null | grep -q ') Z '; do sleep 0.02; done; \
                  echo clean";
    let mut container = home.command("unshare");
    container.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    container.args([env!("CARGO_BIN_EXE_tenure"), "run", "m", "--grace", "100ms"]);
    container.args([
        "--ttl",
        "10s",
        "--transition",
        "10s",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let output = bounded(&mut container);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout), "clean\n");
}
