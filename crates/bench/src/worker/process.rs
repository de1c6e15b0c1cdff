//! A worker, seen from the program that tells it what to do.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command as Program, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::{Command, WORD};
use crate::Result;
use crate::locks::Kind;

/// A worker that says nothing for so long will never answer.
const LONGEST: Duration = Duration::from_secs(180);

/// Where a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this processor alone, with one thread for its tasks.
    Pinned(usize),
    /// Wherever there is room, with so many threads for its tasks.
    Anywhere(usize),
}

/// A process of its own; killed when it is dropped.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    who: String,
}

impl Worker {
    /// Starts one, and waits until it is connected.
    pub fn start(kind: Kind, url: &str, place: Place) -> Result<Self> {
        let mut program = Program::new(std::env::current_exe()?);
        let (cpu, threads) = match place {
            Place::Pinned(cpu) => (cpu.to_string(), "0".to_owned()),
            Place::Anywhere(threads) => ("any".to_owned(), threads.to_string()),
        };
        program.args([WORD, &format!("{kind:?}"), url, &cpu, &threads]);
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let (tell, lines) = channel();
        thread::spawn(move || {
            let mut told = output.lines().map_while(std::io::Result::ok);
            while told.next().is_some_and(|line| tell.send(line).is_ok()) {}
        });
        let who = format!("{} on {url}", kind.name());
        let mut worker = Self {
            child,
            input,
            lines,
            who,
        };
        worker.hear()?;
        Ok(worker)
    }

    /// Tells it what to do, without waiting for the answer.
    pub fn tell(&mut self, command: &Command) -> Result<()> {
        Ok(writeln!(self.input, "{command}")?)
    }

    /// Waits for its next answer.
    pub fn hear(&mut self) -> Result<Vec<u64>> {
        let line = self.lines.recv_timeout(LONGEST);
        let line = line.map_err(|error| format!("{}: {error}", self.who))?;
        let words = line.strip_prefix("ok");
        let words = words.ok_or_else(|| format!("{}: {line}", self.who))?;
        let numbers = words.split_whitespace().map(str::parse);
        Ok(numbers.collect::<std::result::Result<_, _>>()?)
    }

    /// Tells it what to do, and waits for the answer.
    pub fn ask(&mut self, command: &Command) -> Result<Vec<u64>> {
        self.tell(command)?;
        self.hear()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it; it can tidy up nothing.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
