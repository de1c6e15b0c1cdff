//! Collecting the dead that have no other parent.
//!
//! A sub-reaper, or the first process of a container, becomes the parent of
//! every orphan below it; those that are not collected stay in the table of
//! processes for ever.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::wait::{Id, WaitPidFlag};
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};
use tokio::signal::unix::{SignalKind, signal};

/// Children that a part of this program waits for.
static LEFT: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

fn left() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Leaves `child` to the one who waits for it.
pub(crate) fn leave(child: Pid) {
    left().get_or_insert_default().insert(child);
}

/// `child` is waited for no more.
pub(crate) fn take(child: Pid) {
    left().get_or_insert_default().remove(&child);
}

/// Becomes the parent of all who are orphaned below this program, and collects
/// those that die, for as long as the runtime lives.
pub(crate) fn begin() -> std::io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    let mut deaths = signal(SignalKind::child())?;
    tokio::spawn(async move {
        while deaths.recv().await.is_some() {
            reap(None);
        }
    });
    Ok(())
}

/// Collects the dead children that are not waited for, and not `except`.
pub(crate) fn reap(except: Option<Pid>) {
    let is_ours = |child: Pid| {
        let is_waited_for = left().as_ref().is_some_and(|left| left.contains(&child));
        Some(child) != except && !is_waited_for
    };
    let dead = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    // Thousands may die in a second: they are not looked for one by one.
    while let Some(child) = any_dead() {
        if !is_ours(child) {
            // It hides those behind it.
            for child in crate::tree::dead_children()
                .into_iter()
                .filter(|it| is_ours(*it))
            {
                let _ = waitid(WaitId::Pid(child), dead);
            }
            return;
        }
        if waitid(WaitId::Pid(child), dead).is_err() {
            return;
        }
    }
}

/// A child that has died and is not collected.
fn any_dead() -> Option<Pid> {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let status = nix::sys::wait::waitid(Id::All, look).ok()?;
    Pid::from_raw(status.pid()?.as_raw())
}
