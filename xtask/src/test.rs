//! `cargo xtask test`: check the programs, run the plan, close with what was seen.

use std::io::Write;
use std::path::Path;
use std::{fmt, io};

use crate::areas::Area;
use crate::args::TestArgs;
use crate::crew::Size;
use crate::job::Job;
use crate::plan::{Plan, selected};
use crate::programs::{self, Missing, Program};
use crate::servers::Provided;
use crate::summary::Summary;
use crate::system::apt_privilege;
use crate::targets::Targets;
use crate::{areas, crew, install, job, missing, run, servers};

/// How a test run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Passed,
    Failed,
    /// No test ran, because programs are missing.
    Missing,
}

/// # Errors
///
/// When cargo cannot be started.
pub(crate) fn test(root: &Path, args: &TestArgs) -> io::Result<End> {
    let areas = selected(args);
    let provided = match servers::provide(root, args.servers, &areas) {
        Ok(provided) => provided,
        Err(reason) => {
            eprintln!("xtask: no test was run, the servers cannot be had: {reason}");
            return Ok(End::Missing);
        }
    };
    if !is_provided(&areas, args, &provided) {
        return Ok(End::Missing);
    }
    let plan = Plan::new(args, &Targets::find(root));
    if !plan.empty.is_empty() {
        println!(
            "xtask: there is no test target for {}",
            Area::list(&plan.empty)
        );
    }
    let summary = execute(root, &plan, args, &provided)?;
    print!(
        "\n{summary}{}",
        LeftOut {
            plan: &plan,
            summary: &summary
        }
    );
    Ok(if summary.is_success() {
        End::Passed
    } else {
        End::Failed
    })
}

/// Whether the programs for these areas are there beside those that were unpacked, or could be
/// installed; says so if not.
pub(crate) fn is_provided(areas: &[Area], args: &TestArgs, unpacked: &[Provided]) -> bool {
    let mut needs = areas::needs(areas);
    needs.retain(|need| !unpacked.iter().any(|unpacked| unpacked.replaces(*need)));
    let lacking = programs::missing(&needs);
    if !lacking.is_empty()
        && let Err(reason) = provide(&lacking, &needs, args)
    {
        let lacking = programs::missing(&areas::needs(&Area::ALL));
        eprint!("{}", missing::message(&lacking, areas, &reason));
        return false;
    }
    true
}

fn provide(lacking: &[Missing], needs: &[Program], args: &TestArgs) -> Result<(), String> {
    if args.no_install {
        return Err("--no-install was given".to_owned());
    }
    if let Some(variable) = lacking.iter().find_map(Missing::wrong_variable) {
        return Err(format!("{variable} is set, but it is not there"));
    }
    install::install(&programs::apt_packages(lacking), apt_privilege()?)?;
    match programs::missing(needs).as_slice() {
        [] => Ok(()),
        _ => Err("the installed packages do not bring them".to_owned()),
    }
}

fn execute(
    root: &Path,
    plan: &Plan,
    args: &TestArgs,
    provided: &[Provided],
) -> io::Result<Summary> {
    let mut summary = Summary::default();
    let mut jobs = Vec::new();
    if let Some(arguments) = &plan.programs {
        let shown = format!("cargo {}", arguments.join(" "));
        println!("xtask: {shown}");
        let (programs, is_built) = job::build(root, arguments, provided)?;
        jobs = programs;
        if !is_built {
            summary.end(&shown, false);
            jobs.clear();
        }
    }
    if !jobs.is_empty() && !plan.examples.is_empty() {
        let arguments = ["build", "--workspace", "--all-features", "--examples"];
        let shown = format!("cargo {}", arguments.join(" "));
        println!("xtask: {shown}");
        if !run::cargo(root).args(arguments).status()?.success() {
            summary.end(&shown, false);
            jobs.clear();
        }
    }
    let examples: Vec<_> = plan
        .examples
        .iter()
        .filter_map(|name| job::example(root, &jobs, name))
        .collect();
    jobs.extend(examples);
    // Documentation of what does not compile has nothing to say.
    if let Some(arguments) = plan.documentation.as_ref().filter(|_| !jobs.is_empty()) {
        jobs.push(job::cargo(root, "doc-tests", arguments));
    }
    crew::run(jobs.clone(), args.size(), &mut summary, &mut io::stdout());
    if args.retry && args.runner.is_empty() {
        run_again(&jobs, &mut summary, &mut io::stdout());
    }
    Ok(summary)
}

/// Runs what failed once more, one test at a time on a machine that has nothing else to do.
fn run_again(jobs: &[Job], summary: &mut Summary, out: &mut impl Write) {
    for failures in summary.again() {
        let Some(job) = jobs.iter().find(|job| job.name == failures.target) else {
            continue;
        };
        let names = failures.names.join(", ");
        let _ = writeln!(out, "xtask: again, alone: {names}");
        let alone = job.only(&failures.names);
        let mut again = Summary::default();
        let size = Size {
            jobs: 1,
            threads: 1,
        };
        crew::run(vec![alone], size, &mut again, out);
        if again.is_success() && again.passed() == failures.names.len() {
            summary.passed_alone(failures);
        }
    }
}

/// The last line: everything that a reader could believe was tested, and was not.
struct LeftOut<'a> {
    plan: &'a Plan,
    summary: &'a Summary,
}

impl fmt::Display for LeftOut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.plan.left_out.clone();
        let counts = [
            (self.summary.ignored(), "ignored"),
            (self.summary.filtered(), "filtered out"),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            parts.push(format!("{count} {what}"));
        }
        if self.summary.is_cut_short() {
            parts.push("what the failures kept from running".to_owned());
        }
        let parts = if parts.is_empty() {
            "nothing".to_owned()
        } else {
            parts.join(", ")
        };
        writeln!(f, "left out: {parts}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_line(only: &[Area], output: &[&str]) -> String {
        let args = TestArgs {
            only: only.to_vec(),
            ..TestArgs::default()
        };
        let plan = Plan::new(&args, &Targets::default());
        let mut summary = Summary::default();
        output.iter().for_each(|line| summary.line(line));
        summary.end("cargo test", true);
        LeftOut {
            plan: &plan,
            summary: &summary,
        }
        .to_string()
    }

    #[test]
    fn a_full_run_leaves_out_what_has_to_be_named() {
        assert_eq!(last_line(&[], &[]), "left out: jvm, machine\n");
        assert_eq!(last_line(&Area::ALL, &[]), "left out: nothing\n");
    }

    #[test]
    fn a_crash_leaves_out_what_it_kept_from_running() {
        assert_eq!(
            last_line(&[], &["running 9 tests"]),
            "left out: jvm, machine, what the failures kept from running\n"
        );
    }

    #[test]
    fn unselected_areas_and_skipped_tests_are_left_out() {
        use Area::{Core, Servers, Sqlite};
        let output = [
            "running 9 tests",
            "test result: ok. 4 passed; 0 failed; 2 ignored; 0 measured; 3 filtered out",
        ];
        assert_eq!(
            last_line(&[Core, Sqlite, Servers], &output),
            "left out: redis, mysql, postgres, zookeeper, counts, faults, browser, jvm, machine, 2 ignored, \
             3 filtered out\n"
        );
    }

    /// A program whose one test fails among others, and alone as `when_alone` says.
    fn run_twice(when_alone: &str) -> Summary {
        let shown = |verdict: &str, counts: &str| {
            format!(
                "echo 'running 1 test'; echo 'test a::slow ... {verdict}'; echo 'test result: {verdict}. {counts}; 0 ignored; 0 measured; 0 filtered out'"
            )
        };
        let failed = shown("FAILED", "0 passed; 1 failed");
        let alone = match when_alone {
            "ok" => shown("ok", "1 passed; 0 failed"),
            _ => format!("{failed}; exit 1"),
        };
        let script = format!(
            "if [ \"$0 $1\" = '--exact a::slow' ]; then {alone}; else {failed}; exit 1; fi"
        );
        let job = Job {
            name: "x (tests/x.rs)".to_owned(),
            words: ["sh", "-c", &script].map(Into::into).to_vec(),
            directory: ".".into(),
            ..Job::default()
        };
        let mut summary = Summary::default();
        let size = Size {
            jobs: 1,
            threads: 1,
        };
        crew::run(vec![job.clone()], size, &mut summary, &mut io::sink());
        assert_eq!((summary.passed(), summary.failed()), (0, 1));
        run_again(&[job], &mut summary, &mut io::sink());
        summary
    }

    #[test]
    fn who_passes_alone_has_passed_and_who_does_not_has_failed() {
        let summary = run_twice("ok");
        assert!(summary.is_success());
        assert!(summary.to_string().contains("a::slow failed among others"));
        assert!(!run_twice("FAILED").is_success());
    }
}
