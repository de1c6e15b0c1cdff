//! `cargo xtask fuzz`: what comes from outside, made up by LLVM's fuzzer.
//!
//! The crates that are fuzzed are compiled so that they tell which code an input has reached. That
//! takes flags of the compiler's, which stable has; this program is cargo's wrapper of the compiler
//! meanwhile, and gives them to the crates of the workspace alone, so that no dependency is
//! compiled a second time (docs/decisions, 88).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

use crate::args::FuzzArgs;
use crate::run;
use crate::test::End;

/// Set while this program is the wrapper of the compiler.
pub(crate) const WRAPPER: &str = "TENURE_FUZZ_WRAPPER";

/// The crates whose code counts.
const CRATES: [&str; 3] = ["tenure", "tenure_dashboard", "tenure_fuzz"];

/// What they are compiled with: counters at every edge, and both sides of every comparison.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// The longest input. Nothing that is read here is longer, and long ones are slow.
const LONGEST: &str = "-max_len=2048";

/// Runs the compiler as cargo would have, with the flags where they belong.
///
/// # Errors
///
/// When it cannot be started.
pub(crate) fn wrap(mut words: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    let mut rustc = Command::new(words.next().unwrap_or_default());
    let words: Vec<OsString> = words.collect();
    let place = words.iter().position(|word| word == "--crate-name");
    let name = place.and_then(|place| words.get(place + 1)?.to_str());
    match name {
        Some(name) if CRATES.contains(&name) => rustc.args(FLAGS),
        // Cargo asks what is true of a target: then the fuzzer is one of the dependencies.
        Some("___") => rustc.arg("--cfg=fuzzing"),
        _ => &mut rustc,
    };
    let status = rustc.args(&words).status()?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Builds the fuzzer, and lets it try each target for as long as was asked for.
///
/// # Errors
///
/// When cargo or the fuzzer cannot be started, or a file cannot be written.
pub(crate) fn fuzz(root: &Path, args: &FuzzArgs) -> io::Result<End> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let home = target.join("fuzz");
    fs::create_dir_all(&home)?;
    let built = target.join("debug/tenure-fuzz");
    let (keeper, fuzzer) = (home.join("keeper"), home.join("fuzzer"));
    if !build(root, false)? {
        return Ok(End::Failed);
    }
    replace(&built, &keeper)?;
    if !build(root, true)? {
        return Ok(End::Failed);
    }
    replace(&built, &fuzzer)?;
    let known = Command::new(&keeper).arg("targets").output()?.stdout;
    let known = String::from_utf8_lossy(&known).into_owned();
    let known: Vec<&str> = known.lines().collect();
    if let Some(unknown) = args
        .targets
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        eprintln!(
            "xtask: no target `{unknown}`; there are {}",
            known.join(", ")
        );
        return Ok(End::Failed);
    }
    let wanted =
        |name: &&&str| args.targets.is_empty() || args.targets.iter().any(|it| it == **name);
    let mut end = End::Passed;
    for name in known.iter().filter(wanted) {
        let try_of = Try {
            name,
            keeper: &keeper,
            fuzzer: &fuzzer,
            home: home.join(name),
        };
        if !try_of.run(args.minutes)? {
            end = End::Failed;
        }
    }
    Ok(end)
}

/// Builds the program of crates/fuzz: to pack and unpack, or as a fuzzer. With all features, as
/// every test is built, so that nothing is compiled twice.
fn build(root: &Path, is_fuzzer: bool) -> io::Result<bool> {
    let mut cargo = run::cargo(root);
    cargo.args(["build", "--workspace", "--all-features"]);
    cargo.args(["--bin", "tenure-fuzz"]);
    if is_fuzzer {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", std::env::current_exe()?);
        cargo.env(WRAPPER, "1");
    }
    Ok(cargo.status()?.success())
}

/// Another run may be using the old one, which stays as it is.
fn replace(built: &Path, place: &Path) -> io::Result<()> {
    let new = place.with_extension("new");
    fs::copy(built, &new)?;
    fs::rename(new, place)
}

/// One target under the fuzzer.
struct Try<'a> {
    name: &'a str,
    keeper: &'a Path,
    fuzzer: &'a Path,
    home: PathBuf,
}

impl Try<'_> {
    /// True when nothing was found that panics or hangs; what is worth keeping is kept.
    fn run(&self, minutes: u64) -> io::Result<bool> {
        let inputs = self.home.join("inputs");
        if !self.keep("unpack", &inputs)? {
            return Ok(false);
        }
        println!("fuzz: {}, for {minutes} min", self.name);
        let seconds = format!("-max_total_time={}", minutes * 60);
        let mut fuzzing = self.fuzzer(&inputs)?;
        let found = format!("-artifact_prefix={}/found-", self.home.display());
        fuzzing.args([&seconds, &found, "-print_final_stats=1", "-timeout=10"]);
        let passed = fuzzing.status()?.success();
        for line in fs::read_to_string(self.log())?.lines() {
            if line.starts_with("stat::") {
                println!("fuzz: {}: {line}", self.name);
            }
        }
        if !passed {
            eprintln!(
                "xtask: {} panics or hangs: see {}",
                self.name,
                self.log().display()
            );
            return Ok(false);
        }
        let kept = self.home.join("kept");
        if kept.exists() {
            fs::remove_dir_all(&kept)?;
        }
        fs::create_dir_all(&kept)?;
        let mut merging = self.fuzzer(&kept)?;
        Ok(merging.arg(&inputs).arg("-merge=1").status()?.success() && self.keep("pack", &kept)?)
    }

    fn log(&self) -> PathBuf {
        self.home.join("log")
    }

    fn keep(&self, what: &str, folder: &Path) -> io::Result<bool> {
        let mut keeper = Command::new(self.keeper);
        Ok(keeper
            .args([what, self.name])
            .arg(folder)
            .status()?
            .success())
    }

    /// The fuzzer with this corpus, behind everything else that the machine does.
    fn fuzzer(&self, corpus: &Path) -> io::Result<Command> {
        let log = fs::File::create(self.log())?;
        let mut fuzzer = Command::new("nice");
        fuzzer.args(["-n", "15"]).arg(self.fuzzer).arg(corpus);
        fuzzer.arg(LONGEST).env("TENURE_FUZZ_TARGET", self.name);
        fuzzer.stdout(log.try_clone()?).stderr(log);
        Ok(fuzzer)
    }
}
