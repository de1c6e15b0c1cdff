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

/// What stands in the environment of whoever is started under a lock.
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
        Tree {
            roots: vec![self.shell],
            apart: vec![rustix::process::getpid()],
            strangers: self.strangers.clone(),
            signs: Some(Signs {
                command: None,
                image: self.image,
                variable: format!("{MARK}="),
                mark: self.mark.clone(),
            }),
        }
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
            Some((Pid::from_raw(pid.parse().ok()?)?, start.parse().ok()?))
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
