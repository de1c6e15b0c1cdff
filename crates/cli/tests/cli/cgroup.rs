//! The command's own cgroup, where one may be made: what it started is
//! found, whatever it has thrown away.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{
    Home, Started, bounded, code, eventually, guardian_of, is_running, signal, start, text,
    witness_of,
};

/// Neither group nor session, parents or environment of the command, and deaf.
const LOST_CHILD: &str = "env -i PATH=\"$PATH\" setsid --fork sh -c 'trap \"\" TERM HUP; \
                          echo $$ > lost; while :; do sleep 0.05; done' >/dev/null 2>&1";

/// Runs what follows the group's path inside of it.
const ENTER: &str = "echo $$ > \"$0/cgroup.procs\"; exec \"$@\"";

/// Our own cgroup, if commands get one of their own below it: cgroup v2 is
/// mounted, no controller is on, a group can be made and used, and systemd,
/// where it runs, has delegated it. What `docs/cli.md` says, tried by hand.
fn place() -> Result<PathBuf, String> {
    let script = r#"
        top=$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
        [ -n "$top" ] || { echo "no cgroup v2 is mounted"; exit 1; }
        own=$top$(sed -n 's/^0:://p' /proc/self/cgroup)
        on=$(cat "$own/cgroup.subtree_control")
        [ -z "$on" ] || { echo "$own shares out $on"; exit 1; }
        try=$own/try-$$
        mkdir "$try" 2>/dev/null || { echo "cannot make $try"; exit 1; }
        sh -c 'echo $$ > "$0/cgroup.procs"' "$try" 2>/dev/null
        used=$?
        rmdir "$try"
        [ $used = 0 ] || { echo "cannot use $try"; exit 1; }
        echo "$own""#;
    let output = bounded(Command::new("sh").args(["-c", script]));
    let mut said = text(&output.stdout).trim().to_owned();
    let is_delegated = !output.status.success() || is_delegated(Path::new(&said));
    if !is_delegated {
        said = format!("systemd has not delegated {said}");
    }
    match output.status.success() && is_delegated {
        true => {
            println!("tested: with a cgroup of the command's own, in {said}");
            Ok(said.into())
        }
        false => {
            println!("tested: without a cgroup of the command's own, because {said}");
            Err(said)
        }
    }
}

/// Whether systemd has nothing to do with our own group, or has delegated it,
/// or one above it without a unit of its own in between.
fn is_delegated(own: &Path) -> bool {
    for group in own.ancestors() {
        let is_marked = |name: &&str| rustix::fs::getxattr(group, *name, &mut [0; 8]).is_ok();
        if ["user.delegate", "trusted.delegate"].iter().any(is_marked) {
            return true;
        }
        let name = group.to_string_lossy();
        if [".service", ".scope", ".slice"]
            .iter()
            .any(|kind| name.ends_with(kind))
        {
            return false;
        }
    }
    !Path::new("/run/systemd/system").exists()
}

/// The groups that the program of this number has made.
fn groups(place: &Path, maker: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).unwrap().flatten();
    let prefix = format!("tenure-{maker}-");
    let is_its = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix);
    entries.filter(is_its).map(|entry| entry.path()).collect()
}

fn are_gone(place: &Result<PathBuf, String>, maker: u32) {
    if let Ok(place) = place {
        eventually("its group is removed", || groups(place, maker).is_empty());
    }
}

/// Kills all of them in the same moment: stopped first, none can do anything
/// about another's end.
fn kill_at_once(all: &[Pid]) {
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in all {
            kill_process(*pid, signal).unwrap();
        }
    }
}

fn own(program: &Started) -> Pid {
    Pid::from_child(&program.0)
}

/// A child that no test leaves behind, also when it fails.
struct Child(Pid);

impl Child {
    fn is_running(&self) -> bool {
        is_running(self.0)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.is_running() {
            let _ = kill_process(self.0, Signal::KILL);
        }
    }
}

/// A run of this script that has a lost child, and the child.
fn run(home: &Home, script: &str) -> (Started, Child) {
    let program = start(home.run_script(script).stderr(Stdio::null()));
    let child = Child(home.pid("lost"));
    (program, child)
}

/// What `docs/guarantees.md` says of a child that nothing tells any more: it is
/// ended where there is a group, and otherwise not found.
fn is_ended_or_not_found(place: &Result<PathBuf, String>, child: &Child, witness: Pid) {
    eventually("the witness has done its work", || !is_running(witness));
    if place.is_ok() {
        assert!(!child.is_running(), "it works on without the lock");
    } else {
        assert!(child.is_running(), "found: then the documents are wrong");
    }
}

#[test]
fn killed_together_with_its_guardian_the_program_leaves_nobody_behind() {
    let place = place();
    for script in [
        format!("{LOST_CHILD}; sleep 1000"),
        // Also when the script holds another lock there.
        format!("eval \"$(\"$TENURE\" hold inner)\"; {LOST_CHILD}; sleep 1000"),
    ] {
        let home = Home::new();
        let (program, child) = run(&home, &script);
        let (guardian, witness) = (guardian_of(&program.0), witness_of(&program.0));
        kill_at_once(&[own(&program), guardian]);
        is_ended_or_not_found(&place, &child, witness);
        are_gone(&place, program.0.id());
        assert!(home.becomes_free());
    }
}

#[test]
fn revoked_without_its_guardian_the_program_leaves_nobody_behind() {
    let place = place();
    let home = Home::new();
    let (mut program, child) = run(&home, &format!("{LOST_CHILD}; sleep 1000"));
    kill_process(guardian_of(&program.0), Signal::KILL).unwrap();
    let revoked = home.output(["revoke", home.mutex(), "--yes"]);
    assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    assert_eq!(code(&mut program.0), Some(76));
    assert!(!child.is_running());
    are_gone(&place, program.0.id());
}

/// The group of the inner one is below that of the outer one, and is ended and
/// removed with it.
#[test]
fn a_run_inside_a_run_ends_with_the_outer_one() {
    let place = place();
    let home = Home::new();
    let inner = format!("{LOST_CHILD}; sleep 1000");
    fs::write(home.path("inner.sh"), inner).unwrap();
    let script = "echo $$ > outer; \"$TENURE\" run inner -- sh inner.sh; sleep 1000";
    let (program, child) = run(&home, script);
    let (guardian, witness) = (guardian_of(&program.0), witness_of(&program.0));
    if let Ok(place) = &place {
        let outer = groups(place, program.0.id());
        let of = |pid: Pid| {
            let text = fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_pid())).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("0::"));
            PathBuf::from(line.unwrap())
        };
        let name = outer[0].file_name().unwrap();
        assert!(of(home.pid("outer")).ends_with(name));
        assert!(
            of(child.0).parent().unwrap().ends_with(name),
            "{:?}",
            of(child.0)
        );
        for apart in [own(&program), guardian, witness] {
            assert!(!of(apart).ends_with(name), "only the command is in it");
        }
    }
    kill_at_once(&[own(&program), guardian]);
    eventually("the witness has done its work", || !is_running(witness));
    let command = home.pid("outer");
    eventually("the command has ended", || !is_running(command));
    // Without a group it depends on who comes first: its own guardian, which
    // knows it, or the witness, which ends that one.
    assert!(place.is_err() || !child.is_running());
    are_gone(&place, program.0.id());
}

#[test]
fn its_group_is_gone_after_every_end() {
    let place = place();
    for (end, expected) in [
        ("true", 0),
        ("exit 3", 3),
        ("kill -9 $$", 137),
        ("./none", 127),
    ] {
        let home = Home::new();
        let script = format!("cat /proc/self/cgroup > in; echo >> in; {end}");
        let mut program = start(home.run_script(&script).stderr(Stdio::null()));
        let maker = program.0.id();
        assert_eq!(code(&mut program.0), Some(expected), "{end}");
        let was_in = home.line("in").contains(&format!("/tenure-{maker}-"));
        assert_eq!(was_in, place.is_ok(), "{end}");
        if let Ok(place) = &place {
            assert!(groups(place, maker).is_empty(), "{end}");
        }
    }
    let home = Home::new();
    let (program, child) = run(&home, &format!("{LOST_CHILD}; sleep 1000"));
    signal(&program.0, Signal::KILL);
    eventually("nobody is left", || !child.is_running());
    are_gone(&place, program.0.id());
}

/// A guardian that does not come to its first word must not make this program
/// deaf: it could be ended only by SIGKILL.
#[test]
fn asked_to_end_before_the_command_begins_it_does_and_leaves_no_group() {
    let place = place();
    for _ in 0..20 {
        let home = Home::new();
        let mut program = start(home.run_script("echo > begun").stderr(Stdio::null()));
        let children = format!("/proc/{0}/task/{0}/children", program.0.id());
        let guardian = loop {
            let text = fs::read_to_string(&children).unwrap();
            if let Some(first) = text.split_whitespace().next() {
                break Pid::from_raw(first.parse().unwrap()).unwrap();
            }
        };
        kill_process(guardian, Signal::STOP).unwrap();
        // It takes its name before its first word. Who has not begun at all keeps the program
        // waiting for that.
        let of = |file| fs::read_to_string(format!("/proc/{}/{file}", guardian.as_raw_pid()));
        let has_begun = of("cmdline").unwrap().contains("__guardian");
        if of("comm").unwrap().trim() == "tenure-guardian" || !has_begun {
            let _ = kill_process(guardian, Signal::CONT);
            let _ = code(&mut program.0);
            continue;
        }
        signal(&program.0, Signal::TERM);
        assert_eq!(code(&mut program.0), Some(143));
        assert!(!is_running(guardian));
        assert!(!home.path("begun").exists());
        are_gone(&place, program.0.id());
        assert!(home.becomes_free());
        return;
    }
    panic!("the guardian is never stopped in time");
}

/// All three are killed, so none is there to do anything. The next that comes
/// clears up after them, but ends no process: it does not know whose that is.
#[test]
fn an_empty_group_that_was_left_is_removed_by_the_next_and_nobody_is_ended() {
    let place = place();
    let home = Home::new();
    let (program, child) = run(
        &home,
        &format!("{LOST_CHILD}; echo $$ > command; exec sleep 1000"),
    );
    let all = [
        own(&program),
        guardian_of(&program.0),
        witness_of(&program.0),
    ];
    let command = Child(home.pid("command"));
    kill_at_once(&all);
    let mut program = program;
    let _ = code(&mut program.0);
    let next = || assert!(home.becomes_free());
    next();
    assert!(child.is_running(), "it is nobody's");
    if let Ok(place) = &place {
        assert_eq!(groups(place, program.0.id()).len(), 1);
    }
    for pid in [child.0, command.0] {
        kill_process(pid, Signal::KILL).unwrap();
        eventually("it is dead", || !is_running(pid));
    }
    if let Ok(place) = &place {
        eventually("the next one removes it", || {
            next();
            groups(place, program.0.id()).is_empty()
        });
    }
}

/// A resource that remembers the largest token: a file, and a lock around it.
const WRITE: &str = "write() ( exec 9> turn; flock 9; seen=$(cat seen 2>/dev/null || echo 0); \
                     if [ \"$1\" -lt \"$seen\" ]; then echo \"$1\" >> refused; else \
                     echo \"$1\" > seen; echo \"$1\" >> written; fi )";

/// All three are killed, and the command works on beside the next owner: with a
/// group of its own and without. What it writes is refused by its token.
#[test]
fn a_command_that_outlives_all_three_is_refused_by_its_token() {
    let _ = place();
    let home = Home::new();
    let works =
        format!("{WRITE}; echo $$ > command; while :; do write $TENURE_TOKEN; sleep 0.02; done");
    let mut program = start(home.run_script(&works).stderr(Stdio::null()));
    let command = Child(home.pid("command"));
    home.line("written");
    kill_at_once(&[
        own(&program),
        guardian_of(&program.0),
        witness_of(&program.0),
    ]);
    let _ = code(&mut program.0);
    let next = format!("{WRITE}; write $TENURE_TOKEN; echo $TENURE_TOKEN > next");
    let next = bounded(&mut home.run_next(&next)).status.code();
    assert_eq!(next, Some(0));
    let token: u64 = home.line("next").parse().unwrap();
    // It works on, and is refused.
    let late: u64 = home
        .line("refused")
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(command.is_running() && late < token, "{late} and {token}");
    let written = fs::read_to_string(home.path("written")).unwrap();
    assert_eq!(written.lines().last(), Some(token.to_string().as_str()));
}

/// A program in another container cannot be seen by its number: what it has made
/// and not used yet stays, for it holds a lock on the folder.
#[test]
fn an_empty_group_is_left_alone_while_its_unseen_maker_lives() {
    let Ok(place) = place() else {
        return;
    };
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    // In a place of its own: another run meanwhile clears up, too.
    let home = Home::new();
    let alone = place.join(format!("alone-{}-{}", std::process::id(), home.mutex()));
    let group = alone.join(format!("tenure-{}-0", gone.id()));
    fs::create_dir_all(&group).unwrap();
    let maker = fs::File::open(&group).unwrap();
    rustix::fs::flock(&maker, rustix::fs::FlockOperation::LockShared).unwrap();
    let run = || {
        let mut program = home.command("sh");
        program.args(["-c", ENTER]).arg(&alone);
        program.args([env!("CARGO_BIN_EXE_tenure"), "run", "m", "--", "true"]);
        bounded(&mut program).status.code()
    };
    let (first, was_there) = (run(), group.exists());
    drop(maker);
    let (second, is_there) = (run(), group.exists());
    let _ = fs::remove_dir(&group);
    eventually("nothing is left in it", || fs::remove_dir(&alone).is_ok());
    assert_eq!((first, second), (Some(0), Some(0)));
    assert!(was_there, "its maker lives");
    assert!(!is_there, "its maker is dead");
}

fn as_nobody(home: &Home, words: &[&str]) -> Command {
    let mode = Command::new("chmod")
        .arg("0777")
        .arg(home.path("."))
        .status();
    assert!(mode.unwrap().success());
    let mut program = home.command("setpriv");
    program.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    program.args(words);
    program
}

/// As everybody has it who is not root, and as it was before.
#[test]
fn without_the_right_to_make_a_group_it_does_without() {
    let home = Home::new();
    let script = format!("{LOST_CHILD}; while [ ! -s lost ]; do sleep 0.02; done; exit 3");
    let words = ["run", "-v", "m", "--grace", "0s", "--", "sh", "-c", &script];
    let output = if rustix::process::getuid().is_root() {
        let program = [&[env!("CARGO_BIN_EXE_tenure")], &words[..]].concat();
        bounded(&mut as_nobody(&home, &program))
    } else {
        home.output(words)
    };
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(!is_running(home.pid("lost")), "{said}");
    if rustix::process::getuid().is_root() || place().is_err() {
        let lines = said
            .lines()
            .filter(|line| line.contains("no cgroup of its own"));
        assert_eq!(lines.count(), 1, "{said}");
    }
}

/// A group that was delegated to a user is enough. There even a process of
/// another user is ended, which no signal of this one's reaches.
#[test]
fn in_a_delegated_group_also_another_users_process_is_ended() {
    let place = match place() {
        Ok(place) if rustix::process::getuid().is_root() => place,
        // No other user can delegate one; what happens then is tested above.
        _ => return println!("not tested: only root can delegate a group"),
    };
    let home = Home::new();
    let become_other = home.path("become-other");
    fs::copy("/usr/bin/setpriv", &become_other).unwrap();
    let mode = Command::new("chmod")
        .arg("4755")
        .arg(&become_other)
        .status();
    assert!(mode.unwrap().success());
    let group = place.join(format!("delegated-{}-{}", std::process::id(), home.mutex()));
    fs::create_dir(&group).unwrap();
    for file in [
        "",
        "cgroup.procs",
        "cgroup.subtree_control",
        "cgroup.threads",
    ] {
        let path = group.join(file);
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let script = "./become-other --reuid=1 --regid=1 --clear-groups \
                  sh -c 'echo $$ > sleeping; exec sleep 1000' >/dev/null 2>&1 & \
                  while [ ! -s sleeping ]; do sleep 0.02; done; exit 3";
    let run = [
        env!("CARGO_BIN_EXE_tenure"),
        "run",
        "-v",
        "m",
        "--grace",
        "0s",
        "--",
    ];
    let inside = as_nobody(&home, &[&run[..], &["sh", "-c", script]].concat());
    let mut program = home.command("sh");
    program.args(["-c", ENTER]).arg(&group).arg("setpriv");
    let output = bounded(program.args(inside.get_args()));
    let (sleeping, said) = (home.pid("sleeping"), text(&output.stderr));
    let was_running = is_running(sleeping);
    let _ = kill_process(sleeping, Signal::KILL);
    eventually("nothing is left in it", || fs::remove_dir(&group).is_ok());
    assert!(!was_running, "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}
