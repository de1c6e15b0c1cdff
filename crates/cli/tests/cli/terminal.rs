//! On a terminal: the command may read from it, and it comes back afterwards.

use std::io::Write;
use std::process::Stdio;

use super::support::{Home, code, eventually, start};

#[test]
fn the_command_reads_from_the_terminal_and_the_caller_does_so_again() {
    let home = Home::new();
    // Job control would stop a reader in the background.
    let script = "\"$TENURE\" run m -- sh -c 'echo > ready; read a; echo $a > inside'; \
                  echo > ended; read b; echo $b > after";
    std::fs::write(home.path("script.sh"), script).unwrap();
    // `script` runs its command on a terminal of its own.
    let mut terminal = start(
        home.command("script")
            .args(["-qec", "sh script.sh", "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null()),
    );
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
