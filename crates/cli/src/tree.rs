//! The command's whole tree: every process that descends from it, however it
//! left the command's group or session.
//!
//! This program and its guardian are both *sub-reapers*: a process whose
//! parent dies becomes the child of the nearest of them, so that a walk from
//! parents to children through `/proc` misses none. A process that is started by
//! something else (cron, systemd, a container engine) is no descendant. Where
//! the command has a cgroup of its own, all that are in that are members, too.

mod cgroup;
mod process;
mod script;
mod sweep;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};

pub(crate) use cgroup::Cgroup;
use process::Process;
pub(crate) use process::{Image, ancestors, children, dead_children, is_stopped, start_of};
pub(crate) use script::{MARK, Script};
pub(crate) use sweep::{Step, Sweep};

/// Who belongs to the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Ancestors, each with its start, for a number may become another's.
    roots: Vec<(Pid, u64)>,
    /// This program and its guardians, who are no part of it, even if they
    /// have been moved into its cgroup; each with its start.
    apart: Vec<(Pid, u64)>,
    /// Those that were there before, who are no part of it either, nor are
    /// their descendants.
    strangers: Vec<Stranger>,
    /// For those who are not ancestors themselves: what else tells a member.
    signs: Option<Signs>,
    /// The command's own, if it has one.
    cgroup: Option<Arc<Cgroup>>,
}

/// A process that has nothing to do with the command, and when it was started.
pub(crate) type Stranger = (Pid, u64);

/// How members are known when no ancestor is left.
#[derive(Clone, Debug)]
pub(crate) struct Signs {
    /// The command, if its number is that of a group of its own.
    pub(crate) command: Option<Pid>,
    /// Where the program lies of which members are forks.
    pub(crate) image: Option<Image>,
    /// What stands in the environment of every member that kept it: the
    /// variable with its equals sign, and the mark among others in it.
    pub(crate) variable: String,
    pub(crate) mark: String,
}

impl Tree {
    /// All that descends from the process `ancestor`, except `apart` and what
    /// descends from `strangers`.
    pub(crate) fn below(ancestor: Pid, apart: &[Pid], strangers: &[Stranger]) -> Self {
        let mut tree = Self::default();
        tree.add(ancestor);
        tree.keep_apart(ancestor);
        for pid in apart {
            tree.keep_apart(*pid);
        }
        tree.strangers.extend_from_slice(strangers);
        tree
    }

    /// All that descends from `ancestor`, if there is one, or from the command
    /// itself, and all that bears its signs.
    pub(crate) fn of(ancestor: Option<Pid>, strangers: &[Stranger], signs: Signs) -> Self {
        let mut tree = match ancestor {
            Some(ancestor) => Self::below(ancestor, &[], strangers),
            None => Self::default(),
        };
        tree.keep_apart(rustix::process::getpid());
        if let Some(command) = signs.command {
            tree.add(command);
        }
        tree.signs = Some(signs);
        tree
    }

    /// And all that is in the command's own cgroup.
    pub(crate) fn with_cgroup(mut self, cgroup: Option<Arc<Cgroup>>) -> Self {
        self.cgroup = cgroup;
        self
    }

    /// Takes over what was known before: a guardian that is told of another
    /// ancestor must not forget the cgroup until it is told of that again.
    pub(crate) fn in_place_of(mut self, before: Self) -> Self {
        self.cgroup = before.cgroup;
        self.apart.extend(before.apart);
        self
    }

    /// The process `pid` is none of the command's, wherever it is.
    pub(crate) fn keep_apart(&mut self, pid: Pid) {
        self.apart.extend(start_of(pid).map(|start| (pid, start)));
    }

    /// Removes the command's cgroup, if no process is left in it.
    pub(crate) fn remove_cgroup(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
    }

    fn add(&mut self, root: Pid) {
        self.roots.extend(start_of(root).map(|start| (root, start)));
    }

    /// The living members.
    pub(crate) fn members(&self) -> Vec<Process> {
        let mut members = self.members_of(&self.look());
        members.retain(|member| member.is_alive);
        members
    }

    /// Every process that can be seen, and which of them are in the cgroup.
    fn look(&self) -> Vec<Process> {
        let mut all = process::all();
        let Some(cgroup) = &self.cgroup else {
            return all;
        };
        // After the walk: a number in the list that has become another's since
        // then is told by its start, when it is signalled.
        let inside = cgroup.pids();
        for process in &mut all {
            process.is_inside = inside.contains(&process.pid);
        }
        let known: HashSet<Pid> = all.iter().map(|process| process.pid).collect();
        let mut born: Vec<Process> = inside
            .difference(&known)
            .filter_map(|pid| Process::read(*pid))
            .collect();
        if !born.is_empty() {
            let still = cgroup.pids();
            born.retain(|process| still.contains(&process.pid));
            for process in &mut born {
                process.is_inside = true;
            }
            all.append(&mut born);
        }
        all
    }

    /// The members, also those that are dead and not yet collected.
    fn members_of(&self, all: &[Process]) -> Vec<Process> {
        let mut children: HashMap<Option<Pid>, Vec<&Process>> = HashMap::new();
        for process in all {
            children.entry(process.parent).or_default().push(process);
        }
        let is_there = |root: &(Pid, u64)| {
            all.iter()
                .any(|process| process.pid == root.0 && process.start == root.1)
        };
        let is_strange = |process: &Process| self.strangers.contains(&(process.pid, process.start));
        // No process is a member for being started by one of these, unless that one
        // is an ancestor by right.
        let is_apart = |process: &Process| self.apart.contains(&(process.pid, process.start));
        let (mut found, mut queue) = (HashSet::new(), Vec::new());
        for root in self.roots.iter().filter(|root| is_there(root)) {
            found.insert(root.0);
            queue.push(root.0);
        }
        let is_in = |process: &&Process| process.is_inside && !is_apart(process);
        for process in all.iter().filter(is_in) {
            if found.insert(process.pid) {
                queue.push(process.pid);
            }
        }
        if let Some(signs) = &self.signs {
            let forked = |process: &&Process| self.was_forked(process, signs, all);
            let bearing = all.iter().filter(|process| process.bears(signs));
            for process in bearing.chain(all.iter().filter(forked)) {
                if found.insert(process.pid) {
                    queue.push(process.pid);
                }
            }
        }
        while let Some(parent) = queue.pop() {
            for child in children.get(&Some(parent)).into_iter().flatten() {
                if !is_strange(child) && !is_apart(child) && found.insert(child.pid) {
                    queue.push(child.pid);
                }
            }
        }
        let is_member = |process: &&Process| found.contains(&process.pid) && !is_apart(process);
        all.iter().filter(is_member).copied().collect()
    }

    /// Whether `process` is a fork of the program that the signs tell of, and
    /// neither a stranger's nor a stranger itself.
    fn was_forked(&self, process: &Process, signs: &Signs, all: &[Process]) -> bool {
        if signs.image.is_none() || process.image != signs.image {
            return false;
        }
        let mut next = Some(process);
        while let Some(process) = next {
            let identity = (process.pid, process.start);
            if self.roots.contains(&identity) {
                return true;
            }
            if self.strangers.contains(&identity) {
                return false;
            }
            let parent = process.parent;
            next = all.iter().find(|process| Some(process.pid) == parent);
        }
        true
    }

    /// Sends `signal` to every member; returns how many live, and those that
    /// may not be signalled.
    pub(crate) fn signal(&self, signal: Signal) -> (usize, Vec<Pid>) {
        let all = self.look();
        let members = self.members_of(&all);
        // A signal to a group reaches those that are just being born, too,
        // and a dead member may have a child that was born while we looked.
        let groups = whole_groups(&all, &members);
        for group in &groups {
            let _ = kill_process_group(*group, signal);
        }
        let was_told = |member: &Process| {
            signal != Signal::KILL && member.group.is_some_and(|group| groups.contains(&group))
        };
        let living = members.iter().filter(|member| member.is_alive);
        let is_refused = |member: &&Process| match was_told(member) {
            true => !member.may_be_told(),
            false => member.send(signal).is_err(),
        };
        let refused = living
            .clone()
            .filter(is_refused)
            .map(|member| member.pid)
            .collect();
        (living.count(), refused)
    }

    fn has_cgroup(&self) -> bool {
        self.cgroup.is_some()
    }

    /// Kills all in the cgroup at once, also those of another user, and those
    /// that `/proc` hides. The kernel makes the caller wait for whatever else
    /// is done to any cgroup of the host, so this comes last. Returns who was
    /// there.
    fn kill_cgroup(&self) -> HashSet<Pid> {
        let Some(cgroup) = self.cgroup.as_ref().filter(|it| !it.is_empty()) else {
            return HashSet::new();
        };
        let inside = cgroup.pids();
        // This very program may have been moved into it.
        let is_apart = |it: &(Pid, u64)| inside.contains(&it.0) && start_of(it.0) == Some(it.1);
        match !self.apart.iter().any(is_apart) && cgroup.kill() {
            true => inside,
            false => HashSet::new(),
        }
    }
}

/// Whether others than this program and its ancestors are in our group `ours`:
/// the rest of a pipeline.
pub(crate) fn has_neighbours(ours: Pid) -> bool {
    let all = process::all();
    let mut line = vec![rustix::process::getpid()];
    while let Some(process) = all.iter().find(|process| Some(&process.pid) == line.last())
        && let Some(parent) = process.parent
    {
        line.push(parent);
    }
    all.iter().any(|process| {
        process.is_alive && process.group == Some(ours) && !line.contains(&process.pid)
    })
}

/// Whether no shell is left that could bring our group `ours` to the foreground:
/// no process in it has a parent in another group of the session.
pub(crate) fn is_orphaned(ours: Pid) -> bool {
    let all = process::all();
    let has_shell = |process: &Process| {
        let mut parents = all.iter().filter(|it| Some(it.pid) == process.parent);
        parents.any(|parent| parent.group != Some(ours) && parent.session == process.session)
    };
    let mut group = all.iter().filter(|process| process.group == Some(ours));
    !group.any(|process| process.is_alive && has_shell(process))
}

/// The groups that have no other members.
fn whole_groups(all: &[Process], members: &[Process]) -> HashSet<Pid> {
    let ours: HashSet<Pid> = members.iter().map(|member| member.pid).collect();
    let mut groups: HashSet<Pid> = members.iter().filter_map(|member| member.group).collect();
    for process in all.iter().filter(|process| process.is_alive) {
        if !ours.contains(&process.pid)
            && let Some(group) = process.group
        {
            groups.remove(&group);
        }
    }
    groups
}

#[cfg(test)]
mod tests;
