//! A script that holds a lock: its shell, and whom it has started since.
//!
//! The shell was there before this program, which is no ancestor of it: who is
//! orphaned below it goes to init. So its tree is known by what descends from
//! the shell, by a mark in the environment of all that it starts, and, for
//! subshells, which are forks and have the shell's old environment, by where
//! their program lies in memory.

use std::fs;

use rustix::process::Pid;

use super::process::{self, Process};
use super::{Image, Signs, Stranger, Tree};

/// What stands in the environment of all that is started under a lock.
pub(crate) const MARK: &str = "TENURE_MARK";
/// What was started within so many ticks, hundredths of a second, was started
/// together.
const TOGETHER: u64 = 20;
/// The flag of a process whose addresses are not random.
const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;

/// The shell of a script, as it was when the lock was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    shell: Stranger,
    mark: String,
    image: Option<Image>,
    /// Those that it had started before.
    strangers: Vec<Stranger>,
}

impl Script {
    /// The script of this shell at this moment; `None` when it has ended.
    pub(crate) fn now(shell: Stranger, mark: &str) -> Option<Self> {
        let all = process::all();
        let itself = all.iter().find(|it| (it.pid, it.start) == shell)?;
        let image = itself.image.filter(|_| is_random(shell.0));
        // A subshell: what is its fork cannot be told from what is a fork of
        // the shell around it.
        let around = process::ancestors(shell.0);
        let is_around = |it: &&Process| around.contains(&it.pid) && it.image == image;
        let image = image.filter(|_| !all.iter().any(|it| is_around(&it)));
        let below = Tree {
            roots: vec![shell],
            ..Tree::default()
        };
        let below = below.members_of(&all).into_iter();
        let forks = all.iter().filter(|it| image.is_some() && it.image == image);
        let mut strangers: Vec<Stranger> = below
            .chain(forks.copied())
            .map(|it| (it.pid, it.start))
            .filter(|it| *it != shell)
            .collect();
        strangers.sort_unstable_by_key(|(pid, _)| pid.as_raw_pid());
        strangers.dedup();
        Some(Self {
            shell,
            mark: mark.to_owned(),
            image,
            strangers,
        })
    }

    pub(crate) fn shell(&self) -> Pid {
        self.shell.0
    }

    /// The shell and all that it has started since.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree {
            roots: vec![self.shell],
            apart: Vec::new(),
            strangers: self.strangers.clone(),
            signs: Some(Signs {
                command: None,
                image: self.image,
                variable: format!("{MARK}="),
                mark: self.mark.clone(),
            }),
            cgroup: None,
        };
        tree.keep_apart(rustix::process::getpid());
        tree
    }

    /// The names of its members except the shell, `one` of them, and those
    /// around that one: its ancestors, and the rest of a pipeline, which was
    /// started with it.
    pub(crate) fn others_than(&self, one: Pid) -> Vec<String> {
        let mut around = process::ancestors(one);
        around.extend([one, self.shell.0]);
        let start = process::start_of(one).unwrap_or(0);
        let members = self.tree().members().into_iter();
        members
            .filter(|it| !around.contains(&it.pid) && it.start + TOGETHER < start)
            .map(|it| {
                let raw = it.pid.as_raw_pid();
                let name = fs::read_to_string(format!("/proc/{raw}/comm")).unwrap_or_default();
                format!("{raw} ({})", name.trim_end())
            })
            .collect()
    }

    /// In words that a guardian understands.
    pub(crate) fn words(&self) -> String {
        let process = |(pid, start): &Stranger| format!("{}:{start}", pid.as_raw_pid());
        let image = self.image.map_or_else(Vec::new, Vec::from);
        let image: Vec<String> = image.iter().map(ToString::to_string).collect();
        let strangers: Vec<String> = self.strangers.iter().map(process).collect();
        format!(
            "{} {} [{}] {}",
            process(&self.shell),
            self.mark,
            image.join(","),
            strangers.join(" ")
        )
    }

    /// From such words.
    pub(crate) fn parse<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let process = |word: &str| {
            let (pid, start) = word.split_once(':')?;
            // One below zero would be a group.
            let pid: u32 = pid.parse().ok()?;
            Some((Pid::from_raw(pid.try_into().ok()?)?, start.parse().ok()?))
        };
        let shell = process(words.next()?)?;
        let mark = words.next()?.to_owned();
        let image = words.next()?.strip_prefix('[')?.strip_suffix(']')?;
        let image: Vec<u64> = image.split(',').filter_map(|it| it.parse().ok()).collect();
        Some(Self {
            shell,
            mark,
            image: image.try_into().ok(),
            strangers: words.map(process).collect::<Option<_>>()?,
        })
    }
}

/// Whether the kernel has drawn the addresses of this process.
fn is_random(pid: Pid) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let drawn = read("/proc/sys/kernel/randomize_va_space");
    let flags = read(&format!("/proc/{}/personality", pid.as_raw_pid()));
    let flags = u32::from_str_radix(flags.trim(), 16);
    matches!(drawn.trim(), "1" | "2") && flags.is_ok_and(|flags| flags & ADDR_NO_RANDOMIZE == 0)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// A shell that tells when it has started what it is to start.
    struct Shell(Child);

    impl Shell {
        fn start(text: &str) -> (Self, tempfile::TempDir) {
            let place = tempfile::tempdir().unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", text]).current_dir(place.path());
            let shell = command.stdin(Stdio::null()).spawn().unwrap();
            (Self(shell), place)
        }

        fn script(&self) -> Script {
            let pid = Pid::from_child(&self.0);
            let shell = (pid, process::start_of(pid).unwrap());
            Script::now(shell, "a-mark-of-this-test").unwrap()
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn number(place: &tempfile::TempDir, name: &str) -> i32 {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let text = fs::read_to_string(place.path().join(name)).unwrap_or_default();
            if text.ends_with('\n') {
                return text.trim().parse().unwrap();
            }
            assert!(Instant::now() < end, "never: {name}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_guardian_understands_what_it_is_told() {
        let (shell, place) = Shell::start("sleep 60 & echo $! > before; wait");
        let before = number(&place, "before");
        let script = shell.script();
        assert_eq!(script.strangers.len(), 1);
        assert_eq!(
            Script::parse(script.words().split_whitespace()),
            Some(script)
        );
        let _ = rustix::process::kill_process(
            Pid::from_raw(before).unwrap(),
            rustix::process::Signal::KILL,
        );
        for nonsense in ["", "1:2", "x:2 m []", "1:2 m 3", "1:2 m [] 3"] {
            assert_eq!(
                Script::parse(nonsense.split_whitespace()),
                None,
                "{nonsense}"
            );
        }
    }

    /// Forked and orphaned before: it has the shell's image, and no parent.
    #[test]
    fn what_was_there_before_is_no_member_and_forks_since_are() {
        let text = "( ( while :; do sleep 0.05; done ) & echo $! > orphan ); echo $$ > ready; \
                    while [ ! -e go ]; do sleep 0.02; done; \
                    ( ( while :; do sleep 0.05; done ) & echo $! > since ); exit";
        let (mut shell, place) = Shell::start(text);
        number(&place, "ready");
        let orphan = number(&place, "orphan");
        let script = shell.script();
        fs::write(place.path().join("go"), "").unwrap();
        let since = number(&place, "since");
        shell.0.wait().unwrap();
        let tree = script.tree();
        let members: Vec<i32> = tree
            .members()
            .iter()
            .map(|it| it.pid.as_raw_pid())
            .collect();
        assert!(members.contains(&since), "{members:?}");
        assert!(!members.contains(&orphan), "{members:?}");
        for raw in [orphan, since] {
            let _ = rustix::process::kill_process(
                Pid::from_raw(raw).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
}
