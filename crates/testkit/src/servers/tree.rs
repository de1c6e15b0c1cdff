//! The processes of a server: PostgreSQL has many, each in a session of its own, so signals to
//! its process group do not reach them.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

/// One line of the process table.
struct Entry {
    pid: i32,
    parent: i32,
    state: char,
}

/// Stops a process and all its descendants; says which.
///
/// Parents are stopped before their children are looked for, so none is born unseen.
pub(super) fn freeze(root: i32) -> io::Result<Vec<i32>> {
    let mut frozen = Vec::new();
    let mut next = vec![root];
    while !next.is_empty() {
        for &pid in &next {
            signal(pid, Signal::STOP)?;
        }
        // The signal is not the stop: wait until they really stand still.
        super::wait::until_true("stopping a server", || {
            table()
                .iter()
                .all(|e| !next.contains(&e.pid) || matches!(e.state, 'T' | 't' | 'Z'))
        })
        .map_err(io::Error::other)?;
        let children = table()
            .into_iter()
            .filter(|e| next.contains(&e.parent))
            .map(|e| e.pid);
        let children = children.collect();
        frozen.extend(std::mem::replace(&mut next, children));
    }
    Ok(frozen)
}

/// Lets a process and all its descendants go on.
pub(super) fn thaw(root: i32) -> io::Result<()> {
    let table = table();
    let mut all = vec![root];
    let mut seen = 0;
    while seen < all.len() {
        let parent = all[seen];
        all.extend(table.iter().filter(|e| e.parent == parent).map(|e| e.pid));
        seen += 1;
    }
    // Children first, so that a parent finds them as it left them.
    all.iter()
        .rev()
        .try_for_each(|&pid| signal(pid, Signal::CONT))
}

/// Whether any of these still runs; a zombie does not.
pub(super) fn any_alive(pids: &[i32]) -> bool {
    table()
        .iter()
        .any(|e| pids.contains(&e.pid) && e.state != 'Z')
}

/// Sends a signal; a process that is gone already is no error.
pub(super) fn signal(pid: i32, signal: Signal) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(pid) else {
        return Ok(());
    };
    match kill_process(pid, signal) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

fn table() -> Vec<Entry> {
    if Path::new("/proc/self/stat").exists() {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        return entries
            .filter_map(|entry| from_proc(&entry.path()))
            .collect();
    }
    let output = Command::new("ps")
        .args(["-A", "-o", "pid=,ppid=,state="])
        .output();
    let lines = output
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    lines
        .lines()
        .filter_map(|line| parse(line.split_whitespace(), [0, 1, 2]))
        .collect()
}

fn from_proc(directory: &Path) -> Option<Entry> {
    let pid = directory.file_name()?.to_str()?;
    pid.parse::<i32>().ok()?;
    let stat = fs::read_to_string(directory.join("stat")).ok()?;
    // The name stands in parentheses and may itself hold spaces and parentheses.
    let rest = &stat[stat.rfind(')')? + 1..];
    parse(
        std::iter::once(pid).chain(rest.split_whitespace()),
        [0, 2, 1],
    )
}

fn parse<'a>(fields: impl Iterator<Item = &'a str>, order: [usize; 3]) -> Option<Entry> {
    let fields: Vec<&str> = fields.take(3).collect();
    let field = |i: usize| fields.get(order[i]).copied();
    Some(Entry {
        pid: field(0)?.parse().ok()?,
        parent: field(1)?.parse().ok()?,
        state: field(2)?.chars().next()?,
    })
}
