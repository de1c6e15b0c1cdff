//! A cgroup of the command's own, where one may be made.
//!
//! The kernel keeps the list of who is in it. A process that is born in it stays
//! in it, whatever becomes of its parents, its group, its session and its
//! environment; only root, or the owner of the group, can take a process out.
//! So it is found also by one who is no ancestor.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, getpid};

use super::process::start_of;

const PREFIX: &str = "tenure-";
/// How often, and how soon, a group is tried to be removed that still counts
/// a process that is just dying. Who tries has other things to do.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(2);
/// How many groups that others left one program removes: its own command waits.
const CLEARED: usize = 16;

/// The command's cgroup, as one process of this program knows it.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    inode: u64,
    /// All is done through it: another group that has the same name by now is
    /// never meant.
    folder: File,
}

impl Cgroup {
    /// Makes one below our own, and removes those that others left empty there.
    ///
    /// # Errors
    /// Says why there is none to be had.
    pub(crate) fn make() -> Result<Self, String> {
        let read =
            |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let (top, ours) = find(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
            .ok_or("no cgroup v2 is mounted here")?;
        let is_systemd = Path::new("/run/systemd/system").exists();
        if !may_make(&top, &ours, is_systemd, has_mark) {
            return Err(format!("systemd has not delegated {}", ours.display()));
        }
        // Where controllers are on, a group of its own would be a share of its own.
        let control = ours.join("cgroup.subtree_control");
        let control = fs::read_to_string(&control)
            .map_err(|error| format!("{}: {error}", control.display()))?;
        if !control.trim().is_empty() {
            let ours = ours.display();
            return Err(format!("{ours} shares out {}", control.trim()));
        }
        clear(&ours);
        let name = format!(
            "{PREFIX}{}-{:08x}",
            getpid().as_raw_pid(),
            fastrand::u32(..)
        );
        let path = ours.join(name);
        let failed = |error| format!("cannot make {}: {error}", path.display());
        fs::create_dir(&path).map_err(failed)?;
        let made = Self::open(&path).map_err(failed)?;
        // Kept for as long as this program lives, and seen by others also where
        // our number is hidden or another one: see `clear`.
        if let Err(error) = flock(&made.folder, FlockOperation::NonBlockingLockShared) {
            made.remove();
            return Err(failed(error.into()));
        }
        Ok(made)
    }

    fn open(path: &Path) -> io::Result<Self> {
        let folder = File::open(path)?;
        Ok(Self {
            path: path.to_owned(),
            inode: folder.metadata()?.ino(),
            folder,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in the process `pid`, which has not begun.
    ///
    /// # Errors
    /// Says why it is not in.
    pub(crate) fn take_in(&self, pid: Pid) -> Result<(), String> {
        let number = pid.as_raw_pid().to_string();
        let taken = write(&self.place().join("cgroup.procs"), &number);
        taken.map_err(|error| format!("cannot use {}: {error}", self.path.display()))
    }

    /// In words that a guardian understands; `None` if there are none.
    pub(crate) fn words(&self) -> Option<String> {
        let path = self.path.to_str().filter(|path| !path.contains('\n'))?;
        Some(format!("{} {path}", self.inode))
    }

    /// From such words, if it is still the same.
    pub(crate) fn parse(words: &str) -> Option<Self> {
        let (inode, path) = words.split_once(' ')?;
        let inode: u64 = inode.parse().ok()?;
        let path = Path::new(path.trim_end_matches('\n'));
        Self::open(path).ok().filter(|found| found.inode == inode)
    }

    /// Its folder, whatever has the name by now.
    fn place(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.folder.as_raw_fd()).into()
    }

    /// Whether no process is in it, nor in one below it, also none whose number
    /// cannot be seen from here; or it is no more.
    pub(super) fn is_empty(&self) -> bool {
        let events = fs::read_to_string(self.place().join("cgroup.events"));
        events.map_or(true, |events| {
            events.lines().any(|line| line == "populated 0")
        })
    }

    /// Who is in it, or in one below it: of a `tenure` inside the command, say.
    pub(super) fn pids(&self) -> HashSet<Pid> {
        // Mostly no process is left by then.
        if self.is_empty() {
            return HashSet::new();
        }
        let read = |folder: PathBuf| fs::read_to_string(folder.join("cgroup.procs"));
        let lists = folders(self.place())
            .into_iter()
            .filter_map(|it| read(it).ok());
        let numbers = lists.flat_map(|list| {
            let numbers = list.lines().filter_map(|line| line.parse().ok());
            numbers.collect::<Vec<i32>>()
        });
        // Those of another container are shown as 0.
        numbers.filter_map(Pid::from_raw).collect()
    }

    /// Kills all at once, also those that are just being born; false where the
    /// kernel cannot (before Linux 5.14).
    pub(super) fn kill(&self) -> bool {
        write(&self.place().join("cgroup.kill"), "1").is_ok()
    }

    /// Removes it, unless a process is in it.
    pub(crate) fn remove(&self) {
        for _ in 0..TRIES {
            match self.remove_once() {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                _ => return,
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn remove_once(&self) -> io::Result<()> {
        let is_there = fs::symlink_metadata(&self.path).is_ok_and(|it| it.ino() == self.inode);
        if !is_there {
            return Ok(());
        }
        // Those below are of the processes that are still in it.
        if !self.is_empty() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        for folder in folders(self.place()).iter().skip(1).rev() {
            let _ = fs::remove_dir(folder);
        }
        fs::remove_dir(&self.path)
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// This one and all below it, none before the one it is in.
fn folders(top: PathBuf) -> Vec<PathBuf> {
    let (mut folders, mut next) = (vec![top], 0);
    while let Some(folder) = folders.get(next) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|it| it.is_dir());
        let below: Vec<_> = entries.filter(is_folder).map(|it| it.path()).collect();
        folders.extend(below);
        next += 1;
    }
    folders
}

/// Removes the empty groups in `ours` of programs that are no more, which were
/// killed together with both their guardians.
fn clear(ours: &Path) {
    let entries = fs::read_dir(ours).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let maker = maker.and_then(|rest| rest.split_once('-')?.0.parse().ok());
        let is_dead = |maker| start_of(maker).is_none();
        maker.and_then(Pid::from_raw).is_some_and(is_dead)
    });
    for entry in left.take(CLEARED) {
        let Ok(left) = Cgroup::open(&entry.path()) else {
            continue;
        };
        // A maker in another container, or one that is hidden, has its lock.
        if flock(&left.folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = left.remove_once();
        }
    }
}

/// The top of the cgroups v2 that can be seen, and the one that we are in, by
/// `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn find(mounts: &str, groups: &str) -> Option<(PathBuf, PathBuf)> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // Outside of what a container may see.
    let group = Path::new(group);
    if group.components().any(|part| part.as_os_str() == "..") {
        return None;
    }
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        // A name with blanks in it is written with backslashes.
        if !kind.starts_with("cgroup2 ") || line.contains('\\') {
            return None;
        }
        let below = group.strip_prefix(root).ok()?;
        Some((PathBuf::from(at), Path::new(at).join(below)))
    })
}

/// Whether `ours` is one below which we may make groups: systemd has every group
/// to itself that it has not delegated, also where we own the folder.
fn may_make(top: &Path, ours: &Path, is_systemd: bool, has_mark: fn(&Path) -> bool) -> bool {
    for group in ours.ancestors() {
        if has_mark(group) {
            return true;
        }
        let kind = group.extension().and_then(|kind| kind.to_str());
        if matches!(kind, Some("service" | "scope" | "slice")) {
            return false;
        }
        // What is between is a user's to whom it was delegated.
        if group == top {
            break;
        }
    }
    !is_systemd
}

/// Whether systemd has marked the group as delegated.
fn has_mark(group: &Path) -> bool {
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0; 8];
        let length = rustix::fs::getxattr(group, *name, &mut value);
        length.is_ok_and(|length| value[..length] == *b"1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:7 - cgroup2 cgroup2 rw\n";

    fn found(mounts: &str, groups: &str) -> Option<String> {
        let (top, ours) = find(mounts, groups)?;
        Some(format!("{} {}", top.display(), ours.display()))
    }

    #[test]
    fn our_own_group_is_found_wherever_it_is_mounted() {
        let both = "4:memory:/a\n0::/b/c\n";
        let expected = "/sys/fs/cgroup/unified /sys/fs/cgroup/unified/b/c";
        assert_eq!(found(HYBRID, both).as_deref(), Some(expected));
        // A part of it, as a container may have it.
        let part = "9 1 0:38 /b /cg ro - cgroup2 cgroup rw\n";
        assert_eq!(found(part, both).as_deref(), Some("/cg /cg/c"));
        assert_eq!(found(part, "0::/bb\n"), None);
        assert_eq!(found(part, "4:memory:/a\n"), None, "no cgroup v2");
        assert_eq!(found(HYBRID, "0::/../x\n"), None, "not to be seen");
        let outer = "9 1 0:38 /../.. /cg rw - cgroup2 cgroup rw\n";
        assert_eq!(found(outer, "0::/\n"), None, "another's");
        let blank = "9 1 0:38 / /c\\040g rw - cgroup2 cgroup rw\n";
        assert_eq!(found(blank, "0::/\n"), None);
        assert_eq!(found("", both), None);
    }

    #[test]
    fn systemd_is_asked_before_a_group_is_made_in_one_of_its_own() {
        let delegated = |group: &Path| group.ends_with("given.service");
        let may = |ours: &str, is_systemd| {
            let ours = Path::new("/cg").join(ours);
            may_make(Path::new("/cg"), &ours, is_systemd, delegated)
        };
        for (ours, with, without) in [
            ("", false, true),
            ("docker/1f", false, true),
            ("system.slice/cron.service", false, false),
            ("user.slice/user-0.slice/session-3.scope", false, false),
            ("system.slice/given.service", true, true),
            // Of a run inside a run, or another that it was given to.
            ("system.slice/given.service/tenure-7-ab", true, true),
            // That one's own systemd, which has not given it on.
            ("user.slice/given.service/app.slice/x.scope", false, false),
        ] {
            assert_eq!(
                (may(ours, true), may(ours, false)),
                (with, without),
                "{ours}"
            );
        }
    }

    #[test]
    fn another_folder_of_the_same_name_is_not_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("with a blank");
        fs::create_dir(&path).unwrap();
        let made = Cgroup::open(&path).unwrap();
        let words = made.words().unwrap();
        assert!(Cgroup::parse(&words).is_some_and(|it| it.path == path));
        fs::rename(&path, place.path().join("other")).unwrap();
        assert!(Cgroup::parse(&words).is_none());
        fs::create_dir(&path).unwrap();
        assert!(Cgroup::parse(&words).is_none());
        made.remove();
        assert!(path.exists(), "another's is not removed");
        for nonsense in ["", "1", "x /", "1 /"] {
            assert!(Cgroup::parse(nonsense).is_none(), "{nonsense}");
        }
    }
}
