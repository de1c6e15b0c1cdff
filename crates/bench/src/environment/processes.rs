//! What the kernel says of processes, and where it lets them run.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Result;

/// The processors that this process may use.
pub fn processors() -> Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}

/// Keeps a process, all its threads and its children on these processors; `None` is this thread,
/// and the threads that it starts later.
pub fn pin(pid: Option<i32>, processors: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    processors.iter().for_each(|cpu| set.set(*cpu));
    let Some(pid) = pid else {
        return Ok(sched_setaffinity(None, &set)?);
    };
    for thread in family(pid).into_iter().flat_map(threads) {
        // One that has just ended needs no place.
        let _ = sched_setaffinity(Pid::from_raw(thread), &set);
    }
    Ok(())
}

/// The processor time that a process and its children have used, in nanoseconds.
pub fn cpu_time(pid: i32) -> u64 {
    let of_thread = |(pid, thread): (i32, i32)| -> Option<u64> {
        let path = format!("/proc/{pid}/task/{thread}/schedstat");
        let text = fs::read_to_string(path).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let all = family(pid).into_iter();
    let all = all.flat_map(|pid| threads(pid).into_iter().map(move |thread| (pid, thread)));
    all.filter_map(of_thread).sum()
}

/// How many TCP connections a process has open.
pub fn connections(pid: u32) -> usize {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = entries
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    let table = ["tcp", "tcp6"].map(|kind| fs::read_to_string(format!("/proc/{pid}/net/{kind}")));
    let table: String = table.into_iter().flatten().collect();
    // The fourth field is the state, the tenth the number of the socket.
    let established = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = fields.get(9).filter(|_| fields.get(3) == Some(&"01"));
        number.map(|number| format!("socket:[{number}]"))
    };
    let known: HashSet<String> = table.lines().filter_map(established).collect();
    links
        .filter(|link| link.to_str().is_some_and(|link| known.contains(link)))
        .count()
}

/// A process and its children: PostgreSQL has one for each client.
fn family(pid: i32) -> Vec<i32> {
    let is_child = |other: &i32| {
        let stat = fs::read_to_string(format!("/proc/{other}/stat")).unwrap_or_default();
        // The name in brackets may hold anything; the parent is the second field after it.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(&pid.to_string())
    };
    let mut family = vec![pid];
    family.extend(numbers(Path::new("/proc")).into_iter().filter(is_child));
    family
}

fn threads(pid: i32) -> Vec<i32> {
    numbers(Path::new(&format!("/proc/{pid}/task")))
}

/// The entries of a directory that are numbers.
fn numbers(directory: &Path) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}
