//! From `hold` to `release`.

use rustix::process::Signal;

use super::super::stores::{Lease, Store, on_every_store};
use super::super::support::{Home, bounded, code, eventually, is_running, signal, start, text};
use super::{WAIT, go, helpers, holder_in, is_free, nobody_is_left, script};

on_every_store!(
    a_part_of_a_script_is_locked,
    kill_9_of_the_shell_frees_the_lock,
    a_script_whose_lock_is_revoked_is_ended,
);

fn a_part_of_a_script_is_locked(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let text = format!(
        "set -eu; eval \"$(\"$TENURE\" hold \"$M\")\"; echo \"$TENURE_TOKEN $TENURE_NAME\" > held; {WAIT}; \
         \"$TENURE\" release; echo $? > code; while [ ! -e end ]; do sleep 0.02; done"
    );
    let mut shell = start(&mut script(&home, "sh", &text));
    let held = home.line("held");
    let (token, name) = held.split_once(' ').unwrap();
    assert!(
        token.parse::<u64>().is_ok() && name == home.mutex(),
        "{held}"
    );
    let refused = home.output(["run", "-n", home.mutex(), "--", "true"]);
    assert_eq!(refused.status.code(), Some(75), "{refused:?}");
    go(&home);
    assert_eq!(home.line("code"), "0");
    assert!(
        is_free(&home),
        "the script still runs, and holds it no more"
    );
    std::fs::write(home.path("end"), "").unwrap();
    assert_eq!(code(&mut shell.0), Some(0));
    nobody_is_left(&home);
}

fn kill_9_of_the_shell_frees_the_lock(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let text = "eval \"$(\"$TENURE\" hold \"$M\")\"; sleep 1000 & echo $! > child; wait";
    let shell = start(&mut script(&home, "sh", text));
    let child = home.pid("child");
    signal(&shell.0, Signal::KILL);
    eventually("what it started is ended", || !is_running(child));
    nobody_is_left(&home);
    assert!(is_free(&home), "at once, not when the lease is over");
}

fn a_script_whose_lock_is_revoked_is_ended(store: Store) {
    let home = Home::on(store, Lease::Short);
    let text = "sleep 1000 & echo $! > before; eval \"$(\"$TENURE\" hold \"$M\")\"; \
                sleep 1000 & echo $! > child; ( while :; do sleep 0.05; done ) & echo $! > fork; \
                setsid sh -c 'echo $$ > daemon; exec sleep 1000' & wait";
    let mut shell = script(&home, "sh", text);
    let mut shell = start(shell.stderr(std::process::Stdio::piped()));
    let started = ["child", "fork", "daemon"].map(|name| home.pid(name));
    let before = home.pid("before");
    let revoked = home.output(["revoke", home.mutex(), "--yes"]);
    assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    assert_eq!(code(&mut shell.0), None, "killed");
    for pid in started {
        eventually("all that it started is ended", || !is_running(pid));
    }
    assert!(is_running(before), "what it had started before is not");
    let _ = rustix::process::kill_process(before, Signal::KILL);
    nobody_is_left(&home);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut shell.0.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("was ended"), "{said}");
}

#[test]
fn one_that_is_not_acquired_ends_the_script() {
    let home = Home::new();
    let _held = super::super::support::holder(&home);
    for shell in ["dash", "bash"] {
        let text = "eval \"$(\"$TENURE\" hold -n \"$M\")\"; echo went on";
        let output = bounded(&mut script(&home, shell, text));
        assert_eq!(output.status.code(), Some(75), "{output:?}");
        assert_eq!(super::text(&output.stdout), "");
        let text = "if lock=$(\"$TENURE\" hold --wait 100ms \"$M\"); then eval \"$lock\"; else echo no $?; fi";
        let output = bounded(&mut script(&home, shell, text));
        assert_eq!(super::text(&output.stdout), "no 75\n", "{output:?}");
    }
    nobody_is_left(&home);
}

#[test]
fn wrong_usage_ends_the_script_too() {
    let home = Home::new();
    for words in [
        "hold",
        "hold x --wait 3",
        "--config /nowhere hold x",
        "hold x --grace 1h",
        "hold x --pid 1x",
        "hold x --url nonsense:",
    ] {
        let text = format!("eval \"$(\"$TENURE\" {words})\"; echo went on");
        let output = bounded(&mut script(&home, "sh", &text));
        assert_eq!(output.status.code(), Some(2), "{words}: {output:?}");
        assert_eq!(super::text(&output.stdout), "", "{words}");
        assert!(!output.stderr.is_empty(), "{words}");
    }
    nobody_is_left(&home);
}

#[test]
fn two_locks_are_released_by_their_names() {
    let home = Home::new();
    let text = "eval \"$(\"$TENURE\" hold a)\"; a=$TENURE_TOKEN; eval \"$(\"$TENURE\" hold b)\"; \
                [ \"$a\" != \"$TENURE_TOKEN\" ] && echo two; \
                \"$TENURE\" release; echo $?; \"$TENURE\" release a; echo $?; \
                \"$TENURE\" run -n a -- echo a is free; \"$TENURE\" run -n b -- true; echo $?; \
                \"$TENURE\" release a; echo $?; \"$TENURE\" release; echo $?; \
                \"$TENURE\" run -n b -- echo b is free; \"$TENURE\" release; echo $?";
    let output = bounded(&mut script(&home, "sh", text));
    let told: Vec<String> = super::text(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    let expected = [
        "two",
        "2",
        "0",
        "a is free",
        "75",
        "76",
        "0",
        "b is free",
        "76",
    ];
    assert_eq!(told, expected, "{output:?}");
    let said = super::text(&output.stderr);
    assert!(said.contains("several locks are held (a, b)"), "{said}");
    nobody_is_left(&home);
}

#[test]
fn what_the_script_holds_it_does_not_wait_for() {
    let home = Home::new();
    let text = "eval \"$(\"$TENURE\" hold \"$M\")\"; \"$TENURE\" run \"$M\" -- true; echo $?; \
                ( eval \"$(\"$TENURE\" hold \"$M\")\"; echo went on ); echo $?; \"$TENURE\" release; echo $?";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "75\n75\n0\n", "{output:?}");
    let said = super::text(&output.stderr);
    assert!(said.contains("wait for itself"), "{said}");
}

#[test]
fn many_locks_one_after_the_other_leave_no_trace_in_the_environment() {
    let home = Home::new();
    let text = "for i in 1 2 3 4; do eval \"$(\"$TENURE\" hold m$i)\"; \"$TENURE\" release; done; \
                echo $TENURE_HOLD | wc -w; echo $TENURE_MARK | wc -w";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "1\n1\n", "{output:?}");
}

#[test]
fn what_works_on_after_the_release_is_named_and_left_alone() {
    let home = Home::new();
    let text = format!(
        "eval \"$(\"$TENURE\" hold \"$M\")\"; sleep 1000 & echo $! > child; {WAIT}; \"$TENURE\" release; echo $?; \
         kill -0 $(cat child) && echo alive; kill $(cat child)"
    );
    let shell = script(&home, "sh", &text)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let child = home.pid("child");
    // Older than what is started together with the release.
    eventually("it has run for a while", || age(child) > 0.5);
    go(&home);
    let output = shell.wait_with_output().unwrap();
    assert_eq!(super::text(&output.stdout), "0\nalive\n", "{output:?}");
    let said = super::text(&output.stderr);
    let named = format!("{} (sleep)", child.as_raw_pid());
    assert!(
        said.contains("still at work") && said.contains(&named),
        "{said}"
    );
}

/// For how many seconds the process has run.
fn age(pid: rustix::process::Pid) -> f64 {
    let up = std::fs::read_to_string("/proc/uptime").unwrap();
    let up: f64 = up.split(' ').next().unwrap().parse().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap();
    let rest = stat.rsplit(')').next().unwrap();
    let start: f64 = rest.split_whitespace().nth(19).unwrap().parse().unwrap();
    up - start / 100.0
}

#[test]
fn another_program_gets_json() {
    let home = Home::new();
    let text = "\"$TENURE\" hold \"$M\" --pid $$ --output json > told; TENURE_HOLD=$(sed 's/.*\"hold\":\"\\([0-9a-f]*\\)\".*/\\1/' told) \"$TENURE\" release; echo $?";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "0\n", "{output:?}");
    let told: serde_json::Value = serde_json::from_str(&home.line("told")).unwrap();
    assert_eq!(told["name"], home.mutex());
    assert!(
        told["token"].is_string() && told["pid"].is_number(),
        "{told}"
    );
    let helpers = helpers(&home, "__holder");
    assert!(helpers.len() <= 1, "{helpers:?}");
    nobody_is_left(&home);
}

/// However early it goes wrong, and wherever it was said that no shell reads.
#[test]
fn another_program_gets_no_words_for_a_shell() {
    let home = Home::new();
    std::fs::write(home.path("json.toml"), "output = 'json'").unwrap();
    for (words, wanted) in [
        ("--config json.toml hold m --grace 99h", ""),
        ("--config json.toml --url-file nowhere hold m", ""),
        ("--config json.toml hold ' m' ", ""),
        ("--config json.toml hold m --pid 0", ""),
        ("--output json hold m --grace 99h", ""),
        ("--output json hold m --frob", ""),
        ("--output=json hold", ""),
        (
            "--config json.toml --output human hold m --grace 99h",
            "exit 2",
        ),
        ("--config nowhere hold m", "exit 2"),
        ("--url-file nowhere hold m", "exit 2"),
        ("hold m --frob", "exit 2"),
    ] {
        let text = format!("told=$(\"$TENURE\" {words}); code=$?; echo \"$told\"; exit $code");
        let output = bounded(&mut script(&home, "sh", &text));
        assert_eq!(output.status.code(), Some(2), "{words}: {output:?}");
        let told = super::text(&output.stdout);
        assert_eq!(told.trim_end(), wanted, "{words}: {output:?}");
        assert!(!output.stderr.is_empty(), "{words}");
    }
}

#[test]
fn a_release_without_a_hold_says_what_is_missing() {
    let home = Home::new();
    let output = home.output(["release"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("tenure hold NAME"));
    let mut lying = home.tenure(["release"]);
    lying.env("TENURE_HOLD", "0123456789abcdef0123456789abcdef");
    assert_eq!(bounded(&mut lying).status.code(), Some(76));
}

#[test]
fn a_script_that_is_only_warned_goes_on_and_learns_of_the_loss() {
    let home = Home::on(Store::Sqlite, Lease::Short);
    let text = format!(
        "eval \"$(\"$TENURE\" hold \"$M\" --on-loss warn)\"; echo > held; {WAIT}; \"$TENURE\" release; echo $? > code"
    );
    let mut shell = script(&home, "sh", &text);
    let mut shell = start(shell.stderr(std::process::Stdio::piped()));
    home.line("held");
    assert!(helpers(&home, "__guardian\0script").is_empty());
    assert_eq!(
        home.output(["revoke", home.mutex(), "--yes"]).status.code(),
        Some(0)
    );
    let mut said = std::io::BufReader::new(shell.0.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(line.contains("goes on without"), "{line}");
    assert!(is_running(holder_in(&home)), "to tell of it");
    go(&home);
    assert_eq!(home.line("code"), "76");
    assert_eq!(code(&mut shell.0), Some(0));
    nobody_is_left(&home);
}
