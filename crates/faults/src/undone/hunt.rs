//! The suite against a program that has a bug of the past.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Undone, VARIABLE, all, tree};

/// How a run ends that has found something.
const FOUND: &str = "found: ";

/// Hunts for the bug of this name, or for all; whether each was found within so many seconds.
///
/// # Errors
/// When there is no such bug, or the program with it cannot be built.
pub fn hunt(name: &str, seconds: u64, target: &Path) -> io::Result<bool> {
    let bugs: Vec<Undone> = all()?
        .into_iter()
        .filter(|bug| name == "all" || bug.name == name)
        .collect();
    if bugs.is_empty() {
        let names: Vec<_> = all()?.into_iter().map(|bug| bug.name).collect();
        let names = names.join(", ");
        return Err(io::Error::other(format!(
            "no bug {name:?}; there are {names}"
        )));
    }
    let target = std::path::absolute(target)?;
    let program = tree::build(&target)?;
    let mut all_found = true;
    for bug in &bugs {
        let began = Instant::now();
        let mut run = Command::new(&program);
        run.args(["--store", &bug.store, "--hunt", &bug.faults]);
        run.args(["--seed", &bug.seed.to_string()]);
        run.args(["--seconds", &seconds.to_string()]);
        run.arg("--reports")
            .arg(target.join("undone").join(&bug.name));
        let output = run.env(VARIABLE, &bug.name).stderr(Stdio::inherit());
        let said = String::from_utf8_lossy(&output.output()?.stdout).into_owned();
        let took = began.elapsed().as_secs();
        let line = said.lines().find(|line| line.starts_with(FOUND));
        all_found &= line.is_some();
        let line = line.unwrap_or("not found");
        println!("{} on {}: {line}, {took} s", bug.name, bug.store);
    }
    Ok(all_found)
}

/// How a run says that it has found something.
#[must_use]
pub fn found_by(kinds: &str, index: u64, seed: u64) -> String {
    format!("{FOUND}{kinds} in slice {index} (seed {seed})")
}
