//! Counts tests from what `cargo test` prints.
//!
//! Fed line by line with cargo's and the test binaries' output in one stream, because cargo
//! announces a target on stderr and the target answers on stdout.

use std::fmt;

/// What one test binary, documentation run or example came to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    target: String,
    passed: usize,
    failed: usize,
    ignored: usize,
    filtered: usize,
    note: Option<String>,
    /// The tests that failed.
    names: Vec<String>,
}

/// Tests of one target that failed, to be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failures {
    pub(crate) target: String,
    pub(crate) names: Vec<String>,
}

/// Where a failed test says one of these, it has seen what must never be. That is not run again,
/// however rarely it happens.
const NEVER: [&str; 4] = ["both own", "both held", "worked at once", "violation"];

/// More than so many have a cause in common.
const MOST_AGAIN: usize = 5;

/// The outcomes of a run, and the target whose output is being read.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    outcomes: Vec<Outcome>,
    target: Option<String>,
    block: Block,
    /// The failed tests of the block.
    names: Vec<String>,
    /// Whether what must never be was seen.
    is_grave: bool,
    /// Those that failed among others and passed alone.
    alone: Vec<Failures>,
    cut_short: bool,
    /// Failures counted when the last command ended.
    known: usize,
}

/// What stands between one `running N tests` and the next.
#[derive(Debug, Default)]
enum Block {
    #[default]
    None,
    Running,
    /// The last `test result:` so far. A failed test's own output may contain others before it.
    Result(Outcome),
}

impl Summary {
    /// What follows is the output of `target`.
    pub(crate) fn begin(&mut self, target: &str) {
        self.end_of_block();
        self.target = Some(target.to_owned());
    }

    /// Takes the next line of output.
    pub(crate) fn line(&mut self, line: &str) {
        let line = without_colour(line);
        let line = line.trim();
        if let Some(target) = announced(line) {
            self.begin(&target.name);
        } else if is_header(line) {
            self.end_of_block();
            self.block = Block::Running;
        } else if !matches!(self.block, Block::None) {
            self.names.extend(failed(line));
            let is_failure = !line.starts_with("test ");
            self.is_grave |= is_failure && NEVER.iter().any(|word| line.contains(word));
            if let Some(outcome) = result(line) {
                self.block = Block::Result(outcome);
            }
        }
    }

    /// The command has ended. A failure it reported in no other way counts as one, so that the
    /// total never reads "0 failed" after a crash or a compile error.
    pub(crate) fn end(&mut self, command: &str, success: bool) {
        self.end_of_block();
        self.target = None;
        if !success && self.failed() == self.known {
            self.cut_short = true;
            self.push(command, 0, 1, Some("the command failed"));
        }
        self.known = self.failed();
    }

    /// An example is a test of its own: it passes by exiting with 0.
    pub(crate) fn example(&mut self, name: &str, success: bool) {
        let note = (!success).then_some("did not exit with 0");
        self.push(
            &format!("example {name}"),
            usize::from(success),
            usize::from(!success),
            note,
        );
    }

    /// What failed and may be run again, alone: a few tests, each of which says its name, and none
    /// of which has seen what must never be.
    pub(crate) fn again(&self) -> Vec<Failures> {
        let failed = self.outcomes.iter().filter(|o| o.failed > 0);
        let is_named = failed.clone().all(|o| o.failed == o.names.len());
        if self.is_grave || self.cut_short || !is_named || self.failed() > MOST_AGAIN {
            return Vec::new();
        }
        let failures = failed.map(|o| Failures {
            target: o.target.clone(),
            names: o.names.clone(),
        });
        failures.collect()
    }

    /// These have passed by themselves.
    pub(crate) fn passed_alone(&mut self, failures: Failures) {
        let outcomes = self.outcomes.iter_mut();
        for outcome in outcomes.filter(|o| o.target == failures.target && o.names == failures.names)
        {
            outcome.passed += outcome.failed;
            outcome.failed = 0;
            outcome.names.clear();
        }
        self.known = self.failed();
        self.alone.push(failures);
    }

    fn end_of_block(&mut self) {
        let target = self.target.clone().unwrap_or_default();
        let names = std::mem::take(&mut self.names);
        match std::mem::take(&mut self.block) {
            Block::None => {}
            Block::Running => {
                self.cut_short = true;
                self.push(&target, 0, 1, Some("ended without a result"));
            }
            Block::Result(outcome) => self.outcomes.push(Outcome {
                target,
                names,
                ..outcome
            }),
        }
    }

    fn push(&mut self, target: &str, passed: usize, failed: usize, note: Option<&str>) {
        self.outcomes.push(Outcome {
            target: target.to_owned(),
            passed,
            failed,
            ignored: 0,
            filtered: 0,
            note: note.map(str::to_owned),
            names: Vec::new(),
        });
    }

    pub(crate) fn passed(&self) -> usize {
        self.outcomes.iter().map(|o| o.passed).sum()
    }

    pub(crate) fn failed(&self) -> usize {
        self.outcomes.iter().map(|o| o.failed).sum()
    }

    pub(crate) fn ignored(&self) -> usize {
        self.outcomes.iter().map(|o| o.ignored).sum()
    }

    pub(crate) fn filtered(&self) -> usize {
        self.outcomes.iter().map(|o| o.filtered).sum()
    }

    /// A compile error or a crash keeps tests from running that no line of output names.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// A run that executed nothing has shown nothing.
    pub(crate) fn is_success(&self) -> bool {
        self.failed() == 0 && self.passed() > 0
    }
}

/// One line per target that ran or left out a test, with the names of those that failed, then the total alone on its line.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for o in &self.outcomes {
            if o.passed + o.failed + o.ignored + o.filtered == 0 {
                continue;
            }
            let verdict = if o.failed == 0 { "ok" } else { "FAILED" };
            write!(
                f,
                "{verdict:>6}  {}: {} passed, {} failed",
                o.target, o.passed, o.failed
            )?;
            for (count, what) in [(o.ignored, "ignored"), (o.filtered, "filtered out")] {
                if count > 0 {
                    write!(f, ", {count} {what}")?;
                }
            }
            match &o.note {
                Some(note) => writeln!(f, " ({note})")?,
                None => writeln!(f)?,
            }
            for name in &o.names {
                writeln!(f, "        {name}")?;
            }
        }
        for Failures { target, names } in &self.alone {
            for name in names {
                writeln!(
                    f,
                    " ALONE  {target}: {name} failed among others and passed alone: mend it"
                )?;
            }
        }
        writeln!(f, "{} passed, {} failed", self.passed(), self.failed())
    }
}

/// A target that cargo says it will run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    /// What it is called in the summary.
    pub(crate) name: String,
    /// The name of the program's file; empty for documentation.
    pub(crate) program: String,
}

/// `Running tests/engine/main.rs (target/debug/deps/engine-1f…)` or `Doc-tests tenure`.
pub(crate) fn announced(line: &str) -> Option<Announced> {
    let line = without_colour(line);
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(Announced {
            name: format!("doc-tests {name}"),
            program: String::new(),
        });
    }
    let (source, binary) = line
        .strip_prefix("Running ")?
        .strip_suffix(')')?
        .split_once(" (")?;
    // The source path alone is `src/lib.rs` for every crate; the binary's name tells them apart.
    let file = binary.rsplit(['/', '\\']).next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _hash)| name);
    Some(Announced {
        name: format!("{name} ({source})"),
        program: file.to_owned(),
    })
}

/// `running 3 tests` or `running 1 test`.
fn is_header(line: &str) -> bool {
    let words: Vec<_> = line.split(' ').collect();
    matches!(words[..], ["running", n, "test" | "tests"] if n.parse::<usize>().is_ok())
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 1s`.
fn result(line: &str) -> Option<Outcome> {
    let (_verdict, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| {
        counts
            .split("; ")
            .find_map(|part| part.strip_suffix(what)?.trim().parse::<usize>().ok())
    };
    Some(Outcome {
        target: String::new(),
        passed: count("passed")?,
        failed: count("failed")?,
        ignored: count("ignored").unwrap_or(0),
        filtered: count("filtered out").unwrap_or(0),
        note: None,
        names: Vec::new(),
    })
}

/// `test a::name ... FAILED`.
fn failed(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("test ")?.split_once(" ... FAILED")?;
    Some(name.to_owned())
}

/// Cargo colours its own lines when xtask writes to a terminal.
fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // `ESC [ … letter`
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests;
