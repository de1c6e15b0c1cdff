//! Runs jobs, several at a time, and shows each one's output whole when it has ended.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, thread};

use crate::job::Job;
use crate::order::{self, Load};
use crate::run;
use crate::summary::Summary;

/// After so long without a word it is said who is still running.
const SILENCE: Duration = Duration::from_secs(60);

/// How many tests a program runs at a time, unless the caller says it.
const THREADS: &str = "RUST_TEST_THREADS";

/// How many jobs run at a time, and how many tests in each that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) jobs: usize,
    pub(crate) threads: usize,
}

impl Size {
    /// For this machine: who waits needs no processor of its own.
    pub(crate) fn usual() -> Self {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        Self {
            jobs: cores + 1,
            threads: cores + 1,
        }
    }
}

/// What a job's thread tells.
enum News {
    Line(usize, String),
    Ended(usize, Vec<u8>, io::Result<bool>),
}

struct Running {
    number: usize,
    name: String,
    is_example: bool,
    since: Instant,
    /// What it wrote last.
    line: String,
}

/// Runs all jobs, shows on `out` what they write, and counts in `summary` what they came to.
pub(crate) fn run(mut left: Vec<Job>, size: Size, summary: &mut Summary, out: &mut impl Write) {
    let (tell, news) = mpsc::channel();
    let mut running: Vec<Running> = Vec::new();
    let mut number = 0;
    // Nothing can get between the lines of one that is alone.
    let is_alone = left.len() == 1 || size.jobs == 1;
    loop {
        loop {
            let names: Vec<_> = left.iter().map(|job| job.name.as_str()).collect();
            let beside: Vec<_> = running.iter().map(|job| job.name.as_str()).collect();
            let Some(index) = order::next(&names, &beside, size.jobs) else {
                break;
            };
            let job = left.remove(index);
            running.push(Running {
                number,
                name: job.name.clone(),
                is_example: job.is_example,
                since: Instant::now(),
                line: String::new(),
            });
            // A closed terminal must not end the run, here and below.
            let _ = match is_alone {
                true => writeln!(out, "\n{}", title(&job.name)),
                false => writeln!(out, "xtask: {} begins", job.name),
            };
            let (tell, job_number) = (tell.clone(), number);
            thread::spawn(move || start(&job, job_number, size, is_alone, &tell));
            number += 1;
        }
        if running.is_empty() {
            return;
        }
        match news.recv_timeout(SILENCE) {
            Ok(News::Line(number, line)) => {
                let Some(job) = running.iter_mut().find(|job| job.number == number) else {
                    continue;
                };
                // A test that hangs is known before the whole run is given up.
                let hangs = line.contains(" has been running for over ");
                let _ = match (is_alone, hangs) {
                    (true, _) => write!(out, "{line}").and_then(|()| out.flush()),
                    (false, true) => writeln!(out, "xtask: {}: {}", job.name, line.trim()),
                    (false, false) => Ok(()),
                };
                job.line = line;
            }
            Ok(News::Ended(number, output, status)) => {
                let index = running.iter().position(|job| job.number == number);
                let job = running.swap_remove(index.expect("it was begun"));
                if !is_alone {
                    let _ = show(&job, &output, out);
                }
                let success = status.unwrap_or_else(|error| {
                    let _ = writeln!(out, "xtask: {} could not be run: {error}", job.name);
                    false
                });
                count(&job, &output, success, summary);
            }
            Err(RecvTimeoutError::Timeout) => {
                for job in running.iter().filter(|_| !is_alone) {
                    let (name, seconds) = (&job.name, job.since.elapsed().as_secs());
                    let last = job.line.trim();
                    let _ = writeln!(out, "xtask: {name} runs since {seconds} s, last: {last}");
                }
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("one sender is kept here"),
        }
    }
}

fn title(name: &str) -> String {
    format!("     Running {name}")
}

fn show(job: &Running, output: &[u8], out: &mut impl Write) -> io::Result<()> {
    let seconds = job.since.elapsed().as_secs_f32();
    writeln!(out, "\n{} ({seconds:.1} s)", title(&job.name))?;
    out.write_all(output)?;
    out.flush()
}

fn count(job: &Running, output: &[u8], success: bool, summary: &mut Summary) {
    if job.is_example {
        return summary.example(&job.name, success);
    }
    summary.begin(&job.name);
    for line in String::from_utf8_lossy(output).lines() {
        summary.line(line);
    }
    summary.end(&job.name, success);
}

/// Runs one job to its end, telling of every line.
fn start(job: &Job, number: usize, size: Size, is_alone: bool, tell: &mpsc::Sender<News>) {
    let command = prepared(job, size, is_alone);
    let mut output = Vec::new();
    let each = |line: &str| {
        let _ = tell.send(News::Line(number, line.to_owned()));
    };
    let status = run::tee(command, run::LONGEST_SILENCE, &mut output, each);
    let _ = tell.send(News::Ended(
        number,
        output,
        status.map(|status| status.success()),
    ));
}

/// The job's command, with its number of threads. One that computes gives way to those that wait,
/// whose leases go on while they are kept from the processor.
fn prepared(job: &Job, size: Size, is_alone: bool) -> Command {
    let load = order::load(&job.name);
    let mut command = match load {
        Load::Computes if !is_alone => job.command(&["nice", "-n", "10"]),
        _ => job.command(&[]),
    };
    command.stdin(Stdio::null());
    if load == Load::Waits && env::var_os(THREADS).is_none() {
        command.env(THREADS, size.threads.to_string());
    }
    command
}

#[cfg(test)]
mod tests;
