//! On a terminal: the command may read from it, and it comes back afterwards.

use super::support::{Home, Screen, eventually};

#[test]
fn the_command_reads_from_the_terminal_and_the_caller_does_so_again() {
    let home = Home::new();
    // Job control would stop a reader in the background.
    let script = "\"$TENURE\" run m -- sh -c 'echo > ready; read a; echo $a > inside'; \
                  echo > ended; read b; echo $b > after";
    let mut screen = Screen::show(&home, script);
    eventually("the command runs", || home.path("ready").exists());
    screen.types("one");
    assert_eq!(home.line("inside"), "one");
    eventually("the command has ended", || home.path("ended").exists());
    screen.types("two");
    assert_eq!(home.line("after"), "two");
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn in_the_background_it_leaves_the_terminal_alone() {
    let home = Home::new();
    // With job control, which gives each job a group of its own.
    let script = "set -m; \"$TENURE\" run m -- true & wait; echo > ended; read a; echo $a > after";
    let mut screen = Screen::show(&home, script);
    eventually("the command has ended", || home.path("ended").exists());
    screen.types("one");
    assert_eq!(home.line("after"), "one");
    assert_eq!(screen.end(), Some(0));
}
