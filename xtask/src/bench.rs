//! `cargo xtask bench` and `cargo xtask counts`: what Tenure costs; `cargo xtask faults`: what it
//! withstands.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::areas::Area;
use crate::args::{BenchArgs, TestArgs};
use crate::run;
use crate::test::{End, is_provided};

/// Builds the benchmark with optimisation and runs it.
///
/// # Errors
///
/// When cargo cannot be started.
pub(crate) fn bench(root: &Path, args: &BenchArgs) -> io::Result<End> {
    let provide = TestArgs {
        no_install: args.no_install,
        ..TestArgs::default()
    };
    if !is_provided(&args.areas, &provide, &[]) {
        return Ok(End::Missing);
    }
    // All of its programs: one counts for another.
    let package = ["--release", "--package", "tenure-bench"];
    let built = run::cargo(root).arg("build").args(package).status()?;
    if !built.success() {
        return Ok(End::Failed);
    }
    let mut cargo = run::cargo(root);
    cargo.args(["run", "--quiet"]).args(package).arg("--");
    cargo.args(&args.words);
    if args.write_docs {
        cargo.arg("--docs").arg(root.join("docs"));
    }
    Ok(end(cargo.status()?.success()))
}

/// Builds what breaks stores, and runs it.
///
/// # Errors
///
/// When cargo cannot be started.
pub(crate) fn faults(root: &Path, args: &BenchArgs) -> io::Result<End> {
    let provide = TestArgs {
        no_install: args.no_install,
        ..TestArgs::default()
    };
    if !is_provided(&args.areas, &provide, &[]) {
        return Ok(End::Missing);
    }
    // As every test is built, so that nothing is compiled twice.
    let mut build = run::cargo(root);
    build.args(["build", "--workspace", "--all-features"]);
    if !build.args(["--bin", "tenure-faults"]).status()?.success() {
        return Ok(End::Failed);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let mut program = Command::new(target.join("debug/tenure-faults"));
    program.args(&args.words);
    program.arg("--reports").arg(target.join("faults"));
    let home = match args.write_docs {
        true => root.join("crates/faults"),
        false => target.join("faults"),
    };
    program.arg("--results").arg(home.join("results.json"));
    if args.write_docs {
        program.arg("--page").arg(home.join("README.md"));
    }
    Ok(end(program.status()?.success()))
}

/// Runs the test that counts instructions; with `write` it writes them down instead.
///
/// # Errors
///
/// When cargo cannot be started.
pub(crate) fn counts(root: &Path, write: bool) -> io::Result<End> {
    if !is_provided(&[Area::Counts], &TestArgs::default(), &[]) {
        return Ok(End::Missing);
    }
    let mut cargo = run::cargo(root);
    // As every test is built, so that the same instructions are counted.
    cargo.args(["test", "--workspace", "--all-features", "--test", "counts"]);
    if write {
        cargo.env("TENURE_COUNTS", "write");
    }
    cargo.args(["--", "--nocapture"]);
    Ok(end(cargo.status()?.success()))
}

fn end(is_success: bool) -> End {
    if is_success { End::Passed } else { End::Failed }
}
