//! Which shell it is: subshells, pipes, terminals.

use super::super::stores::{Lease, Store};
use super::super::support::{Home, Screen, bounded, code, eventually, start};
use super::{WAIT, go, holder_in, is_free, nobody_is_left, script};

#[test]
fn a_subshell_holds_it_for_its_own_life() {
    for shell in ["dash", "bash"] {
        let home = Home::new();
        let held = format!(
            "( eval \"$(\"$TENURE\" hold \"$M\")\"; echo > held; {WAIT} ); echo > left; while [ ! -e end ]; do sleep 0.02; done"
        );
        let mut script = start(&mut script(&home, shell, &held));
        home.line("held");
        assert!(!is_free(&home));
        go(&home);
        home.line("left");
        nobody_is_left(&home);
        assert!(is_free(&home), "the script goes on without it");
        std::fs::write(home.path("end"), "").unwrap();
        assert_eq!(code(&mut script.0), Some(0));
    }
}

/// A lost lock ends the subshell that holds it, and not the shell around it.
#[test]
fn a_lost_lock_ends_only_the_subshell() {
    let home = Home::on(Store::Sqlite, Lease::Short);
    let text = "( eval \"$(\"$TENURE\" hold \"$M\")\"; echo > held; while :; do sleep 0.02; done ); \
                echo $? > code; ( sleep 0.2 ); exit 0";
    let mut shell = start(&mut script(&home, "bash", text));
    home.line("held");
    assert_eq!(
        home.output(["revoke", home.mutex(), "--yes"]).status.code(),
        Some(0)
    );
    assert_eq!(home.line("code"), "137");
    assert_eq!(code(&mut shell.0), Some(0));
}

#[test]
fn a_subshell_of_the_substitution_is_seen_through() {
    for shell in ["dash", "bash"] {
        for substitution in [
            "$(\"$TENURE\" hold \"$M\" || echo exit 9)",
            "$( (\"$TENURE\" hold \"$M\"); : )",
            "`\"$TENURE\" hold \"$M\"`",
        ] {
            let home = Home::new();
            let text = format!(
                "set -eu; lock={substitution}; eval \"$lock\"; \"$TENURE\" run -n \"$M\" -- true || echo held $?; \"$TENURE\" release"
            );
            let output = bounded(&mut script(&home, shell, &text));
            assert_eq!(output.status.code(), Some(0), "{shell} {text}: {output:?}");
            assert_eq!(
                super::text(&output.stdout),
                "held 75\n",
                "{shell} {text}: {output:?}"
            );
        }
    }
}

#[test]
fn where_no_shell_reads_it_must_be_named() {
    let home = Home::new();
    // A process that is no shell of its own must not be ended for it.
    let text = "\"$TENURE\" hold \"$M\" > out; echo $?; cat out; \"$TENURE\" hold \"$M\" | cat; \
                sleep 1000 > /dev/null 2>&1 & \"$TENURE\" hold \"$M\" --pid $! > out; echo $?; \
                kill $!; \"$TENURE\" release; echo $?";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(
        super::text(&output.stdout),
        "2\nexit 2\nexit 2\n2\n2\n",
        "{output:?}"
    );
    let said = super::text(&output.stderr);
    assert!(said.contains("--pid $$"), "{said}");
    let text = "\"$TENURE\" hold \"$M\" --pid $$ > out; . ./out; \"$TENURE\" release; echo $?";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "0\n", "{output:?}");
    nobody_is_left(&home);
}

/// A reader that waits for the end of a pipe that the script has closed must
/// not wait for the holder.
#[test]
fn the_holder_keeps_no_pipe_of_the_script_open() {
    let home = Home::new();
    let text = "mkfifo pipe; cat pipe > copy & exec 3> pipe; echo through >&3; \
                eval \"$(\"$TENURE\" hold \"$M\")\"; exec 3>&-; wait; cat copy; \"$TENURE\" release";
    let output = bounded(&mut script(&home, "sh", text));
    assert_eq!(super::text(&output.stdout), "through\n", "{output:?}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn without_a_terminal_under_nohup_it_is_the_same() {
    let home = Home::new();
    let text = format!(
        "eval \"$(\"$TENURE\" hold \"$M\")\"; echo > held; {WAIT}; \"$TENURE\" release; echo $? > code"
    );
    std::fs::write(home.path("script.sh"), text).unwrap();
    let mut command = home.command("setsid");
    command
        .args(["nohup", "sh", "script.sh"])
        .env("M", home.mutex());
    let _shell = start(&mut command);
    home.line("held");
    let holder = holder_in(&home);
    let _ = rustix::process::kill_process(holder, rustix::process::Signal::HUP);
    let _ = rustix::process::kill_process(holder, rustix::process::Signal::TERM);
    assert!(!is_free(&home), "it is deaf to both");
    go(&home);
    assert_eq!(home.line("code"), "0");
    nobody_is_left(&home);
}

#[test]
fn a_person_is_asked_what_a_loss_should_do_and_keeps_the_terminal() {
    let home = Home::on(Store::Sqlite, Lease::Short);
    let mut screen = Screen::show(&home, "exec bash --norc --noprofile -i");
    screen.types("eval \"$(\"$TENURE\" hold m)\"; echo code-$?");
    screen.sees("--on-loss warn");
    screen.sees("code-2");
    screen.types("eval \"$(\"$TENURE\" hold m --on-loss warn)\"; echo held-$?");
    screen.sees("held-0");
    assert_eq!(home.output(["revoke", "m", "--yes"]).status.code(), Some(0));
    screen.sees("goes on without m");
    screen.types("\"$TENURE\" release; echo released-$?");
    screen.sees("released-76");
    screen.types("exit 0");
    assert_eq!(screen.end(), Some(0));
    nobody_is_left(&home);
}

#[test]
fn ctrl_c_while_it_waits_ends_the_script_and_the_waiting() {
    let home = Home::new();
    let _held = super::super::support::holder(&home);
    let text = format!(
        "eval \"$(\"$TENURE\" hold {})\"; echo > went-on",
        home.mutex()
    );
    let mut screen = Screen::show(&home, &text);
    screen.sees("waiting for");
    screen.presses("\x03");
    assert!(screen.end().is_some());
    nobody_is_left(&home);
    assert!(!home.path("went-on").exists());
    eventually("nobody waits", || {
        let status = home.output(["status", home.mutex(), "--output", "json"]);
        super::text(&status.stdout).contains("\"waiters\":[]")
    });
}
