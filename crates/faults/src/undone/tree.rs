//! A copy of the tree with every bug in it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{SWITCH, all, home};

/// The top of the tree.
fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("the top").to_owned()
}

/// All patches, in the order in which they apply.
///
/// # Errors
/// When a file cannot be read, or its head is not whole.
pub fn patches() -> io::Result<Vec<PathBuf>> {
    let names = std::iter::once(SWITCH.to_owned()).chain(all()?.into_iter().map(|bug| bug.name));
    let path = |name: String| home().join(format!("{name}.patch"));
    Ok(names.map(path).collect())
}

/// Makes the copy below `target`, with all bugs in it, and compiles it; the program.
pub(super) fn build(target: &Path) -> io::Result<PathBuf> {
    let copy = target.join("undone/tree");
    copy_to(&copy)?;
    for patch in patches()? {
        let mut git = Command::new("git");
        // A tree of its own, not a part of the one that it lies in.
        git.env("GIT_CEILING_DIRECTORIES", target.join("undone"));
        git.arg("apply").arg(&patch).current_dir(&copy);
        succeed(&mut git)?;
    }
    let built = target.join("undone/target");
    seed(&target.join("debug"), &built.join("debug"))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--workspace", "--all-features"]);
    cargo.args(["--bin", "tenure-faults", "--target-dir"]);
    cargo.arg(&built).current_dir(&copy);
    // To cargo the crates of both trees are the same, as seen from their tops.
    cargo.env_remove("CARGO_TARGET_DIR");
    succeed(&mut cargo)?;
    Ok(built.join("debug/tenure-faults"))
}

/// Begins with the dependencies as they are compiled already, but with no crate of ours.
fn seed(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for (folder, how) in [(".fingerprint", "-a"), ("build", "-a"), ("deps", "-al")] {
        let mut cp = Command::new("cp");
        succeed(cp.arg(how).arg(from.join(folder)).arg(to))?;
        for entry in fs::read_dir(to.join(folder))? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().contains("tenure") {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
    }
    Ok(())
}

/// Brings the copy up to date. What is the same is left alone, so that cargo sees it.
fn copy_to(copy: &Path) -> io::Result<()> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = git.current_dir(root()).output()?.stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let files: BTreeSet<&str> = listed.lines().collect();
    if files.is_empty() {
        return Err(io::Error::other("git lists no files"));
    }
    for file in files {
        let Ok(new) = fs::read(root().join(file)) else {
            continue; // Removed, and git does not know yet.
        };
        let path = copy.join(file);
        if fs::read(&path).is_ok_and(|old| old == new) {
            continue;
        }
        fs::create_dir_all(path.parent().expect("below the copy"))?;
        fs::write(&path, new)?;
    }
    Ok(())
}

fn succeed(command: &mut Command) -> io::Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?} failed"))),
    }
}
