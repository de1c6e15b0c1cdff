//! On a terminal: the command may read from it, and it comes back afterwards.

use rustix::process::{Pid, Signal, kill_process};

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

#[test]
fn in_a_pipeline_the_terminal_stays_with_the_others() {
    let home = Home::new();
    // With job control the pipeline has a group of its own, as for a person.
    let script = "set -m; \"$TENURE\" run m -- sh -c 'echo > ready; while [ ! -e after ]; do sleep 0.02; done' \
                  | sh -c 'read a < /dev/tty; echo $a > after'; echo > ended";
    let mut screen = Screen::show(&home, script);
    eventually("the command runs", || home.path("ready").exists());
    screen.types("one");
    assert_eq!(home.line("after"), "one", "the reader was not stopped");
    eventually("all have ended", || home.path("ended").exists());
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn in_the_foreground_again_it_reads_from_the_terminal_again() {
    let home = Home::new();
    let mut screen = Screen::show(&home, "exec bash --norc --noprofile -i");
    // Builtins only: a shell that is just starting a program cannot be stopped.
    screen.types(
        "\"$TENURE\" run m --ttl 30s --transition 30s -- sh -c 'mkfifo go; echo $$ > ready; read b < go; read a; \
         echo $a > inside'",
    );
    let command = home.pid("ready");
    screen.presses("\x1a");
    screen.sees("suspended");
    screen.types("bg; echo in-the-back$((1 + 1))");
    screen.sees("in-the-back2");
    screen.types("fg");
    // Before that, the shell itself reads what is typed; and a job that stops while the shell
    // brings it to the front is not woken by it.
    eventually("the shell gives the terminal", || {
        !shell_has_terminal(command)
    });
    std::fs::write(home.path("go"), "now\n").unwrap();
    screen.types("one");
    assert_eq!(home.line("inside"), "one");
    screen.types("exit");
    assert_eq!(screen.end(), Some(0));
}

/// Whether the terminal of this process is in the hands of the shell that leads its session.
fn shell_has_terminal(process: Pid) -> bool {
    let fields = fields_of(process);
    let (session, foreground) = (&fields[3], &fields[5]);
    session == foreground
}

/// What `/proc` says of a process, from its state on.
fn fields_of(process: Pid) -> Vec<String> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').map(str::to_owned).collect()
}

fn state_of(process: Pid) -> String {
    fields_of(process)[0].clone()
}

fn parent_of(process: Pid) -> Pid {
    Pid::from_raw(fields_of(process)[1].parse().unwrap()).unwrap()
}

#[test]
fn ctrl_c_ends_the_loop_of_a_shell_too() {
    let home = Home::new();
    let script = "exec bash -c 'while :; do echo >> loops; \
                  \"$TENURE\" run m -- sh -c \"echo > ready; exec sleep 1000\"; done'";
    let mut screen = Screen::show(&home, script);
    eventually("the command runs", || home.path("ready").exists());
    screen.presses("\x03");
    assert!(screen.end().is_some(), "the loop has ended");
    let loops = std::fs::read_to_string(home.path("loops")).unwrap();
    assert_eq!(loops.lines().count(), 1);
}

/// The kernel would stop it again and again, and the lock be renewed meanwhile.
#[test]
fn a_command_that_asks_for_a_terminal_that_nobody_can_give_it_is_ended() {
    for (deaf_to, expected) in [("USR1", "129"), ("HUP", "143"), ("HUP TERM", "137")] {
        let home = Home::new();
        // With job control the job has a group of its own; its shell is gone before it begins.
        let script = format!(
            "set -m; ( {{ while [ ! -e alone ]; do sleep 0.02; done; \
             \"$TENURE\" run m -- sh -c 'trap \"\" {deaf_to}; while :; do read a; done' < /dev/tty; \
             echo $? > code; }} 2> said & ); echo > alone; while [ ! -s code ]; do sleep 0.02; done"
        );
        let screen = Screen::show(&home, &script);
        assert_eq!(home.line("code"), expected, "deaf to {deaf_to}");
        let said = std::fs::read_to_string(home.path("said")).unwrap();
        let refused = said.matches("no shell is left that could give it").count();
        assert!((1..=3).contains(&refused), "{said}");
        assert_eq!(screen.end(), Some(0));
    }
}

/// As sudo and ssh do when they ask for a password.
#[test]
fn a_command_whose_stdin_is_a_file_may_ask_for_the_terminal_by_its_name() {
    let home = Home::new();
    let script = "\"$TENURE\" run m -- sh -c 'echo > ready; read a < /dev/tty; echo $a > inside' < /dev/null; \
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

/// The guardian is killed before it can tell that the command was stopped.
#[test]
fn a_stop_is_noticed_also_when_the_guardian_does_not_live_to_tell_it() {
    let home = Home::new();
    let mut screen = Screen::show(&home, "exec bash --norc --noprofile -i");
    // Builtins only: a shell that is just starting a program cannot be stopped.
    screen.types(
        "\"$TENURE\" run m --ttl 60s --transition 60s -- sh -c 'mkfifo go; echo $$ > ready; read b < go; \
         echo $b > inside'",
    );
    let command = home.pid("ready");
    let guardian = parent_of(command);
    kill_process(guardian, Signal::STOP).unwrap();
    screen.presses("\x1a");
    eventually("the command is stopped", || state_of(command) == "T");
    kill_process(guardian, Signal::KILL).unwrap();
    screen.sees("suspended");
    screen.types("fg");
    eventually("it goes on", || state_of(command) == "S");
    std::fs::write(home.path("go"), "now\n").unwrap();
    assert_eq!(home.line("inside"), "now");
    screen.types("exit");
    assert_eq!(screen.end(), Some(0));
}
