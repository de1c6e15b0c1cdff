//! `tenure-faults`: breaks stores under workers, and judges. Run by `cargo xtask faults`.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use tenure_faults::args::{Args, SLICE_SECONDS, USAGE};
use tenure_faults::report;
use tenure_faults::results::{Results, Slice};
use tenure_faults::slice::{self, Outcome, SlicePlan};
use tenure_faults::{undone, worker};

/// Set in the namespace in which disks can be mounted.
const INSIDE: &str = "TENURE_FAULTS_INSIDE";

/// How much of a history is shown around a violation.
const AROUND: Duration = Duration::from_secs(3);

/// How long a bug of the past is hunted for, at least.
const LEAST_HUNT: u64 = 600;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == "worker").is_some() {
        let orders = words.next().unwrap_or_default();
        return worker::main(&orders).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let args = match Args::parse(words) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("tenure-faults: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tenure-faults: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all promises held.
fn run(args: &Args) -> Result<bool, Failure> {
    fs::create_dir_all(&args.reports)?;
    if let Some(name) = &args.undo {
        let target = args.reports.parent().unwrap_or(Path::new("."));
        return Ok(undone::hunt(name, args.seconds.max(LEAST_HUNT), target)?);
    }
    if args.hunt.is_some() {
        return hunt(args);
    }
    let mut results = Results::read(&args.results)?;
    let mut ran = Vec::new();
    let mut all_held = true;
    for store in &args.stores {
        if store == "sqlite" && std::env::var_os(INSIDE).is_none() {
            all_held &= inside(args)?;
            results = Results::read(&args.results)?;
            continue;
        }
        for plan in plans(args, store) {
            if results.has(&plan) {
                println!("{store} {}.{}: run before", plan.seed, plan.index);
                continue;
            }
            let outcome = slice::run(&plan)?;
            let slice = Slice::of(&plan, &outcome);
            println!("{}", line(&slice));
            show(&plan, &outcome, &args.reports)?;
            results = Results::add(&args.results, slice)?;
            ran.push((plan, outcome));
            let page = args
                .reports
                .join(format!("report-{store}-{}.html", args.seed));
            fs::write(page, report::page(&results, &ran))?;
        }
        // The pages have them; all histories at once would need much memory.
        ran.retain(|(_, outcome)| !outcome.verdict.violations.is_empty());
    }
    if let Some(path) = &args.page {
        let page = fs::read_to_string(path)?;
        let page = report::write_into(&page, &results).ok_or("the page has no markers")?;
        fs::write(path, page)?;
    }
    Ok(all_held && ran.is_empty())
}

/// Runs slices until something is found, and adds nothing up; whether it was.
fn hunt(args: &Args) -> Result<bool, Failure> {
    for store in &args.stores {
        if store == "sqlite" && std::env::var_os(INSIDE).is_none() {
            return inside(args);
        }
        for plan in plans(args, store) {
            let outcome = slice::run(&plan)?;
            println!("{}", line(&Slice::of(&plan, &outcome)));
            show(&plan, &outcome, &args.reports)?;
            let violations = outcome.verdict.violations.iter();
            let mut kinds: Vec<_> = violations.map(|it| format!("{:?}", it.kind)).collect();
            kinds.sort();
            kinds.dedup();
            if !kinds.is_empty() {
                let kinds = kinds.join(", ");
                println!("{}", undone::found_by(&kinds, plan.index, plan.seed));
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Runs SQLite in a namespace of its own: the small disk is mounted where no other process sees it.
fn inside(args: &Args) -> Result<bool, Failure> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--mount", "--"]);
    unshare.arg(std::env::current_exe()?);
    unshare.args(["--store", "sqlite", "--seed", &args.seed.to_string()]);
    unshare.args(["--seconds", &args.seconds.to_string()]);
    if let Some(faults) = &args.hunt {
        let faults = if faults.is_empty() {
            undone::ANY.to_owned()
        } else {
            faults.join(";")
        };
        unshare.args(["--hunt", &faults]);
    }
    unshare.arg("--results").arg(&args.results);
    unshare.arg("--reports").arg(&args.reports);
    Ok(unshare.env(INSIDE, "1").status()?.success())
}

/// Slices of a minute, the last one shorter.
fn plans(args: &Args, store: &str) -> impl Iterator<Item = SlicePlan> {
    let slices = args.seconds.div_ceil(SLICE_SECONDS);
    let (seed, seconds) = (args.seed, args.seconds);
    let store = store.to_owned();
    let only = args.hunt.clone().unwrap_or_default();
    (0..slices).map(move |index| SlicePlan {
        store: store.clone(),
        seed,
        index,
        length: Duration::from_secs(SLICE_SECONDS.min(seconds - index * SLICE_SECONDS)),
        only: only.clone(),
    })
}

fn line(slice: &Slice) -> String {
    let faults: u64 = slice.faults.values().sum();
    format!(
        "{} {}.{}: {} s, {faults} faults, {} grants, {} lost, {} writes, {} runs, {} late writes \
         refused with a fence and {} taken without, two owners where the store forgot {} times \
         (at most {} ms), slowest recovery {} ms, {} violations",
        slice.store,
        slice.seed,
        slice.index,
        slice.seconds,
        slice.grants,
        slice.losses,
        slice.uses,
        slice.runs,
        slice.late_refused,
        slice.late_taken,
        slice.forgotten,
        slice.longest_forgotten,
        slice.slowest,
        slice.violations.len()
    )
}

/// Prints what was broken, and keeps the history of it.
fn show(plan: &SlicePlan, outcome: &Outcome, reports: &Path) -> Result<(), Failure> {
    let violations = &outcome.verdict.violations;
    if violations.is_empty() {
        return Ok(());
    }
    for violation in violations.iter().take(3) {
        println!("{}", report::timeline(&outcome.events, violation, AROUND));
    }
    let history: String = outcome
        .events
        .iter()
        .map(|event| format!("{event}\n"))
        .collect();
    let name = format!("{}-{}-{}.history", plan.store, plan.seed, plan.index);
    let path = reports.join(name);
    fs::write(&path, history)?;
    println!("the whole history is in {}", path.display());
    Ok(())
}
