//! On a terminal: the command may read from it, and it comes back afterwards.

use std::io::Write;
use std::process::Stdio;

use super::support::{Home, Started, code, eventually, start};

#[test]
fn the_command_reads_from_the_terminal_and_the_caller_does_so_again() {
    let home = Home::new();
    // Job control would stop a reader in the background.
    let script = "\"$TENURE\" run m -- sh -c 'echo > ready; read a; echo $a > inside'; \
                  echo > ended; read b; echo $b > after";
    let mut terminal = on_a_terminal(&home, script);
    let mut keyboard = terminal.0.stdin.take().unwrap();
    eventually("the command runs", || home.path("ready").exists());
    keyboard.write_all(b"one\n").unwrap();
    assert_eq!(home.line("inside"), "one");
    eventually("the command has ended", || home.path("ended").exists());
    keyboard.write_all(b"two\n").unwrap();
    assert_eq!(home.line("after"), "two");
    drop(keyboard);
    assert_eq!(code(&mut terminal.0), Some(0));
}

#[test]
fn in_the_background_it_leaves_the_terminal_alone() {
    let home = Home::new();
    // With job control, which gives each job a group of its own.
    let script = "set -m; \"$TENURE\" run m -- true & wait; echo > ended; read a; echo $a > after";
    let mut terminal = on_a_terminal(&home, script);
    let mut keyboard = terminal.0.stdin.take().unwrap();
    eventually("the command has ended", || home.path("ended").exists());
    keyboard.write_all(b"one\n").unwrap();
    assert_eq!(home.line("after"), "one");
    drop(keyboard);
    assert_eq!(code(&mut terminal.0), Some(0));
}

/// Runs the shell script on a terminal of its own, whose keyboard is stdin.
fn on_a_terminal(home: &Home, script: &str) -> Started {
    std::fs::write(home.path("script.sh"), script).unwrap();
    let mut command = home.command("script");
    command.args(["-qec", "sh script.sh", "/dev/null"]);
    start(command.stdin(Stdio::piped()).stdout(Stdio::null()))
}
