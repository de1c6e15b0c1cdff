//! No owner goes on beside what is left of a command.

use std::fs;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{Home, Started, bounded, code, eventually, is_running, signal, start, text};

/// Leaves a process behind that does not listen.
const LEAVES_DEAF: &str = "echo $$ > command; \
    sh -c 'trap \"\" TERM; echo $$ > deaf; while :; do sleep 0.05; done' & \
    while [ ! -s deaf ]; do sleep 0.01; done";

/// The grace is for an owner; one that lost the lock has none.
#[test]
fn a_revocation_ends_what_is_left_of_a_command_at_once() {
    let home = Home::new();
    // The loss is heard of at the next renewal. The grace is longer than this test waits.
    let mut program = home.tenure(["run", home.mutex(), "--ttl", "2s", "--transition", "5m"]);
    program.args(["--grace", "4m", "--", "sh", "-c", LEAVES_DEAF]);
    let mut program = start(program.stderr(Stdio::piped()));
    let (command, deaf) = (home.pid("command"), home.pid("deaf"));
    eventually("the command has ended", || !is_running(command));
    assert!(is_running(deaf), "it has its grace");
    let revoked = home.output(["revoke", home.mutex(), "--yes"]);
    assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    assert_eq!(code(&mut program.0), Some(76));
    assert!(!is_running(deaf));
    let said = said(&mut program);
    assert!(said.contains("the store has given it to another"), "{said}");
    assert!(home.becomes_free());
}

/// An orphan becomes a child of the nearest who looks after orphans, and as the first process of
/// a container that is the program for everybody there.
#[test]
fn who_comes_from_elsewhere_during_a_run_is_left_alone() {
    let home = Home::new();
    let script = "(while [ ! -e up ]; do sleep 0.02; done; sleep 1000 & echo $! > foreign) & \
                  export MAIN=$$; exec \"$TENURE\" run m -- sh -c 'echo > up; \
                  while [ ! -s foreign ]; do sleep 0.02; done; \
                  until [ $(ps -o ppid= -p $(cat foreign)) -eq $MAIN ]; do sleep 0.02; done'";
    let mut program = start(home.command("sh").args(["-c", script]));
    let foreign = home.pid("foreign");
    let ended = code(&mut program.0);
    let was_running = is_running(foreign);
    let _ = kill_process(foreign, Signal::KILL);
    assert_eq!(ended, Some(0));
    assert!(was_running, "it has nothing to do with the command");
}

fn said(program: &mut Started) -> String {
    let mut said = String::new();
    let mut stderr = program.0.stderr.take().unwrap();
    std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
    said
}

/// A home where a program of one user can start one of another, as sudo does. Only root can make
/// such a program; as another user there is none to be had, and nothing to see.
struct TwoUsers {
    home: Home,
}

/// Becomes the other user.
const OTHER: &str = "./become-other --reuid=1 --regid=1 --clear-groups";

impl TwoUsers {
    fn new() -> Option<Self> {
        if !rustix::process::getuid().is_root() {
            return None;
        }
        let home = Home::new();
        let run = |words: &[&str]| {
            let done = Command::new(words[0]).args(&words[1..]).status();
            assert!(done.unwrap().success(), "{words:?}");
        };
        run(&["chmod", "0777", home.path(".").to_str().unwrap()]);
        let program = home.path("become-other");
        run(&["cp", "/usr/bin/setpriv", program.to_str().unwrap()]);
        run(&["chmod", "4755", program.to_str().unwrap()]);
        // Where that user may go, wherever this one was built.
        let tenure = home.path("program");
        run(&["cp", env!("CARGO_BIN_EXE_tenure"), tenure.to_str().unwrap()]);
        run(&["chmod", "0755", tenure.to_str().unwrap()]);
        Some(Self { home })
    }

    /// The program, as a user without rights.
    fn tenure(&self, words: &[&str]) -> Command {
        let mut program = self.home.command("setpriv");
        program.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        program.arg(self.home.path("program")).args(words);
        program
    }

    /// Runs the command `words` of the program, which starts one of the other user.
    fn start(&self, words: &[&str], script: &str) -> (Started, Other) {
        let mut program = self.tenure(words);
        program.args(["--", "sh", "-c", script]);
        let program = start(program.stderr(Stdio::piped()));
        let other = Other(self.home.pid("other"));
        (program, other)
    }

    fn revoke(&self) {
        let revoked = bounded(&mut self.tenure(&["revoke", "m", "--yes"]));
        assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    }
}

/// A process of the other user, which only root can end.
struct Other(Pid);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// Ends the other one, too, which has the program's stderr open.
fn ends_with_77(program: &mut Child, other: Other) {
    assert_eq!(code(program), Some(77));
    assert!(is_running(other.0), "there was nobody to name");
}

#[test]
fn a_schedule_does_not_go_on_beside_one_that_could_not_be_ended() {
    let Some(users) = TwoUsers::new() else { return };
    let script = format!(
        "echo >> begun; {OTHER} sh -c 'echo $$ > other; exec sleep 1000' >/dev/null 2>&1 & \
         while [ ! -s other ]; do sleep 0.02; done"
    );
    let words = ["schedule", "m", "--every", "200ms", "--grace", "0s"];
    let (mut program, other) = users.start(&words, &script);
    let named = format!("{} (sleep)", other.0.as_raw_pid());
    ends_with_77(&mut program.0, other);
    let begun = fs::read_to_string(users.home.path("begun")).unwrap();
    assert_eq!(begun.lines().count(), 1, "one run, and none beside it");
    let said = said(&mut program);
    assert!(
        said.contains("could not be ended") && said.contains(&named),
        "{said}"
    );
}

#[test]
fn a_leader_that_was_deposed_does_not_lead_again_beside_one_that_could_not_be_ended() {
    let Some(users) = TwoUsers::new() else { return };
    let script = format!("echo >> begun; exec {OTHER} sh -c 'echo $$ > other; exec sleep 1000'");
    let words = ["lead", "m", "--ttl", "2s", "--transition", "20s"];
    let (mut program, other) = users.start(&words, &script);
    users.revoke();
    ends_with_77(&mut program.0, other);
    let begun = fs::read_to_string(users.home.path("begun")).unwrap();
    assert_eq!(begun.lines().count(), 1);
}

#[test]
fn a_command_of_another_user_that_cannot_be_told_to_end_is_named() {
    let Some(users) = TwoUsers::new() else { return };
    let script = format!("exec {OTHER} sh -c 'echo $$ > other; exec sleep 1000'");
    let words = ["run", "m", "--ttl", "2s", "--transition", "20s"];
    let (mut program, other) = users.start(&words, &script);
    let named = format!("{} (sleep)", other.0.as_raw_pid());
    signal(&program.0, Signal::TERM);
    let mut lines = std::io::BufReader::new(program.0.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    assert!(
        line.contains("belongs to another user and cannot be sent signal 15"),
        "{line}"
    );
    users.revoke();
    ends_with_77(&mut program.0, other);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut lines, &mut rest).unwrap();
    assert!(
        rest.contains("the command itself could not be ended"),
        "{rest}"
    );
    assert!(rest.contains(&named), "{rest}");
}

/// Nor passed over by the guardian, when the end of the lease is near.
#[test]
fn the_guardian_says_whom_it_could_not_tell_to_end() {
    let Some(users) = TwoUsers::new() else { return };
    let script = format!("exec {OTHER} sh -c 'echo $$ > other; exec sleep 1000'");
    let words = ["run", "m", "--ttl", "1s", "--transition", "2s"];
    let (mut program, other) = users.start(&words, &script);
    let named = format!("{} (sleep)", other.0.as_raw_pid());
    // It cannot renew, and the lease runs out.
    signal(&program.0, Signal::STOP);
    let next = bounded(&mut users.tenure(&["run", "--wait", "30s", "m", "--", "true"]));
    assert_eq!(next.status.code(), Some(0), "{}", text(&next.stderr));
    signal(&program.0, Signal::CONT);
    ends_with_77(&mut program.0, other);
    let said = said(&mut program);
    let words = format!("process {named} belongs to another user and cannot be told to end");
    assert!(said.contains(&words), "{said}");
}
