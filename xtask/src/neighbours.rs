//! `cargo xtask check-sqlite`: the embedded store in an application that uses SQLite itself.
//!
//! Only one `libsqlite3-sys` can be linked into a program, so cargo must find a version that both
//! want; and the store must be right with the oldest version of the driver that it accepts. The
//! newest is what the lock file names: all other tests run with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use crate::run;

/// The oldest driver that the manifest accepts.
const OLDEST: &str = "0.32.1";

/// What else an application may depend on.
const NEIGHBOURS: [(&str, &str); 6] = [
    (
        "sqlx-0-8",
        r#"sqlx = { version = "0.8", features = ["sqlite", "runtime-tokio"] }"#,
    ),
    (
        "sqlx-0-8-without-sqlite",
        r#"sqlx = { version = "0.8", features = ["postgres", "runtime-tokio"] }"#,
    ),
    (
        "sqlx-0-9",
        r#"sqlx = { version = "0.9", features = ["sqlite", "runtime-tokio"] }"#,
    ),
    (
        "diesel-2",
        r#"diesel = { version = "2", features = ["sqlite"] }"#,
    ),
    ("oldest-rusqlite", r#"rusqlite = "0.32""#),
    ("newest-rusqlite", r#"rusqlite = "0.41""#),
];

/// Runs all checks, even after one has failed; returns what failed.
///
/// # Errors
///
/// When a file cannot be written or a program not be started.
pub(crate) fn check(root: &Path) -> io::Result<Vec<String>> {
    let built = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let place = built.join("neighbours");
    let mut failed = Vec::new();
    for (name, dependency) in NEIGHBOURS {
        println!("check-sqlite: beside {name}");
        let application = place.join(name);
        fs::create_dir_all(application.join("src"))?;
        fs::write(application.join("src/main.rs"), "fn main() {}\n")?;
        fs::write(
            application.join("Cargo.toml"),
            manifest(root, name, dependency),
        )?;
        let mut cargo = run::cargo(&application);
        if !cargo
            .args(["generate-lockfile", "--quiet"])
            .status()?
            .success()
        {
            failed.push(format!("no version fits {name}"));
        }
    }
    println!("check-sqlite: the tests with rusqlite {OLDEST}");
    let copy = place.join("tree");
    copy_tree(root, &copy)?;
    let mut update = run::cargo(&copy);
    update.args(["update", "--quiet", "rusqlite", "--precise", OLDEST]);
    // The flags of the test run, in its directory: only what differs is built again.
    let mut test = run::cargo(&copy);
    test.args(["test", "--workspace", "--all-features", "--test", "sqlite"])
        .args(["--", "--quiet"])
        .env("CARGO_TARGET_DIR", built);
    let updated = update.status()?.success();
    // Passed on as it comes, and ended when it hangs.
    let mut out = io::stdout();
    if !(updated && run::tee(test, run::LONGEST_SILENCE, &mut out, |_| {})?.success()) {
        failed.push(format!("the tests with rusqlite {OLDEST}"));
    }
    Ok(failed)
}

fn manifest(root: &Path, name: &str, dependency: &str) -> String {
    let root = root.display().to_string();
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependency}\n\
         tenure = {{ path = {root:?}, features = [\"full\"] }}\n"
    )
}

/// The files that git knows, as they are now, and no others. What is the same stays untouched, so
/// that cargo builds only what has changed since the last time.
fn copy_tree(root: &Path, copy: &Path) -> io::Result<()> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["ls-files", "-z", "--cached"])
        .stdin(Stdio::null());
    let output = git.output()?;
    if !output.status.success() {
        return Err(io::Error::other("git does not list the files"));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let listed: BTreeSet<&str> = listed.split('\0').filter(|file| !file.is_empty()).collect();
    remove_others(copy, copy, &listed)?;
    for file in listed {
        // One that was removed and not yet committed.
        let Ok(text) = fs::read(root.join(file)) else {
            continue;
        };
        let target: PathBuf = copy.join(file);
        if fs::read(&target).is_ok_and(|there| there == text) {
            continue;
        }
        fs::create_dir_all(target.parent().unwrap_or(copy))?;
        fs::write(target, text)?;
    }
    Ok(())
}

/// Removes from `folder` what is not `listed`: a member of the workspace that is gone would still
/// be built.
fn remove_others(copy: &Path, folder: &Path, listed: &BTreeSet<&str>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        let name = path
            .strip_prefix(copy)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let inside = format!("{name}/");
            match listed.range(&*inside..).next() {
                Some(next) if next.starts_with(&inside) => remove_others(copy, &path, listed)?,
                _ => fs::remove_dir_all(&path)?,
            }
        } else if !listed.contains(&*name) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_any_more_goes() {
        let scratch = crate::scratch::Scratch::new("neighbours");
        for file in ["a.rs", "b/c.rs", "b/d.rs", "e/f/g.rs", "ee/x.rs"] {
            scratch.write(file, "");
        }
        let listed = BTreeSet::from(["a.rs", "b/c.rs", "ee/x.rs"]);
        remove_others(scratch.path(), scratch.path(), &listed).unwrap();
        let is_there = |file: &str| scratch.path().join(file).exists();
        assert!(is_there("a.rs") && is_there("b/c.rs") && is_there("ee/x.rs"));
        assert!(!is_there("b/d.rs") && !is_there("e"));
    }

    #[test]
    fn the_manifest_accepts_the_oldest_and_the_newest() {
        let manifest = fs::read_to_string(run::root().join("Cargo.toml")).expect("a manifest");
        assert!(manifest.contains(r#"rusqlite = { version = ">=0.32, <0.42""#));
        let lock = fs::read_to_string(run::root().join("Cargo.lock")).expect("a lock file");
        assert!(
            lock.contains("name = \"rusqlite\"\nversion = \"0.41."),
            "the other tests run with the newest"
        );
    }
}
