//! What a worker does.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, mpsc};
use tokio::task::JoinSet;

use super::{Command, now};
use crate::Result;
use crate::environment::pin;
use crate::locks::{self, Kind, Lock, Locks};

/// How many names are taken at a time when many are to be held.
const AT_A_TIME: usize = 64;

/// Runs a worker: its kind, the URL, the processor or `any`, and how many threads.
pub fn main(words: &[String]) -> Result<()> {
    let [kind, url, cpu, threads] = words else {
        return Err("a worker needs a kind, a URL, a processor and a number of threads".into());
    };
    let is_it = |known: &Kind| format!("{known:?}") == *kind;
    let kind = Kind::ALL.into_iter().find(is_it).ok_or("no such kind")?;
    if let Ok(cpu) = cpu.parse() {
        pin(None, &[cpu])?;
    }
    let runtime = runtime(threads.parse()?)?;
    let url = url.clone();
    match kind {
        Kind::Tenure => work::<locks::Tenure>(&runtime, url),
        Kind::Reentrant => work::<locks::Reentrant>(&runtime, url),
        Kind::RedisEvalsha => work::<locks::RedisEvalsha>(&runtime, url),
        Kind::RedisBefore => work::<locks::RedisBefore>(&runtime, url),
        Kind::RedisPush => work::<locks::RedisPush>(&runtime, url),
        Kind::Rslock => work::<locks::Rslock>(&runtime, url),
        Kind::SqliteInline => work::<locks::SqliteInline>(&runtime, url),
        Kind::Flock => work::<locks::Flock>(&runtime, url),
        Kind::PostgresRow => work::<locks::PostgresRow>(&runtime, url),
        Kind::PostgresRowForgetful => work::<locks::PostgresRowForgetful>(&runtime, url),
        Kind::PostgresAdvisory => work::<locks::PostgresAdvisory>(&runtime, url),
        Kind::PostgresNotify => work::<locks::PostgresNotify>(&runtime, url),
        Kind::MysqlRow => work::<locks::MysqlRow>(&runtime, url),
        Kind::GetLock => work::<locks::GetLock>(&runtime, url),
        Kind::ZookeeperRecipe => work::<locks::ZookeeperRecipe>(&runtime, url),
    }
}

/// As the tasks of a service: what a runtime is blocked on has a thread of its own, and to wake
/// that costs more than to wake a task.
fn work<L: Locks>(runtime: &Runtime, url: String) -> Result<()> {
    runtime.block_on(async { tokio::spawn(serve::<L>(url)).await? })
}

fn runtime(threads: usize) -> io::Result<Runtime> {
    let mut builder = match threads {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(threads.max(1)).enable_all().build()
}

async fn serve<L: Locks>(url: String) -> Result<()> {
    let mut commands = listen();
    let mut here = Here {
        locks: L::open(&url).await?,
        url,
        held: HashMap::new(),
        kept: Vec::new(),
    };
    answer(&Ok(Vec::new()));
    while let Some(line) = commands.recv().await {
        let done = match line.parse() {
            Ok(command) => here.execute(command).await,
            Err(error) => Err(error),
        };
        answer(&done);
    }
    Ok(())
}

fn answer(done: &Result<Vec<u64>>) {
    let line = match done {
        Ok(numbers) => numbers
            .iter()
            .fold("ok".to_owned(), |line, number| format!("{line} {number}")),
        Err(error) => format!("failed: {error}").replace('\n', " "),
    };
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The lines of the input. With its end the process ends, whatever it waits for.
fn listen() -> mpsc::UnboundedReceiver<String> {
    let (tell, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(io::Result::ok) {
            let _ = tell.send(line);
        }
        std::process::exit(0);
    });
    lines
}

/// The locks of this worker.
struct Here<L: Locks> {
    locks: L,
    url: String,
    /// By name, between `take` and `free`.
    held: HashMap<String, L::Lock>,
    /// Held until the end.
    kept: Vec<L::Lock>,
}

impl<L: Locks> Here<L> {
    async fn execute(&mut self, command: Command) -> Result<Vec<u64>> {
        match command {
            Command::Take(name) => {
                let mut lock = self.locks.lock(&name)?;
                let asked = now();
                lock.take().await?;
                let taken = now();
                self.held.insert(name, lock);
                Ok(vec![asked, taken])
            }
            Command::Free(name) => {
                let mut lock = self.held.remove(&name).ok_or("not held")?;
                let begun = now();
                lock.free().await?;
                Ok(vec![begun, now()])
            }
            Command::Cycle {
                tasks,
                names,
                millis,
                prefix,
            } => {
                let length = Duration::from_millis(millis);
                cycle(&self.locks, tasks, names, length, &prefix).await
            }
            Command::Hold { count, prefix } => self.hold(count, &prefix).await,
            Command::Wait { count, prefix } => self.wait(count, &prefix).await,
            Command::Line { waiters, name } => line::<L>(&self.url, waiters, &name).await,
        }
    }

    async fn hold(&mut self, count: usize, prefix: &str) -> Result<Vec<u64>> {
        // What the first use of anything costs is not the cost of holding it.
        let mut first = self.locks.lock(&format!("{prefix}-first"))?;
        first.take().await?;
        first.free().await?;
        let before = memory()?;
        let mut work = JoinSet::new();
        for part in 0..AT_A_TIME.min(count) {
            let (locks, prefix) = (self.locks.clone(), prefix.to_owned());
            work.spawn(async move {
                let mut kept = Vec::new();
                for number in (part..count).step_by(AT_A_TIME) {
                    let mut lock = locks.lock(&format!("{prefix}-{number}"))?;
                    lock.take().await?;
                    kept.push(lock);
                }
                Result::Ok(kept)
            });
        }
        for kept in work.join_all().await {
            self.kept.extend(kept?);
        }
        Ok(vec![before, memory()?])
    }

    async fn wait(&mut self, count: usize, prefix: &str) -> Result<Vec<u64>> {
        for number in 0..count {
            let mut lock = self.locks.lock(&format!("{prefix}-{number}"))?;
            tokio::spawn(async move { lock.take().await });
        }
        // Every one has asked, and listens, by then.
        let settle = Duration::from_millis(500) + Duration::from_millis(2) * count as u32;
        tokio::time::sleep(settle).await;
        Ok(Vec::new())
    }
}

async fn cycle<L: Locks>(
    locks: &L,
    tasks: usize,
    names: usize,
    length: Duration,
    prefix: &str,
) -> Result<Vec<u64>> {
    let begin = Arc::new(Barrier::new(tasks));
    let mut work = JoinSet::new();
    for task in 0..tasks {
        let mut lock = locks.lock(&format!("{prefix}-{}", task % names))?;
        let begin = Arc::clone(&begin);
        work.spawn(async move {
            // The first fills caches and makes rows.
            lock.take().await?;
            lock.free().await?;
            begin.wait().await;
            let end = Instant::now() + length;
            let mut count = 0;
            loop {
                lock.take().await?;
                lock.free().await?;
                if Instant::now() >= end {
                    break;
                }
                count += 1;
            }
            Result::Ok(count)
        });
    }
    let mut counts = Vec::new();
    for count in work.join_all().await {
        counts.push(count?);
    }
    let least = counts.iter().copied().min().unwrap_or_default();
    let most = counts.iter().copied().max().unwrap_or_default();
    Ok(vec![counts.iter().sum(), least, most])
}

async fn line<L: Locks>(url: &str, waiters: usize, name: &str) -> Result<Vec<u64>> {
    let owner = L::open(url).await?;
    let mut held = owner.lock(name)?;
    held.take().await?;
    let mut work = JoinSet::new();
    for _ in 0..waiters {
        // Each is a client of its own, with its own connection.
        let client = L::open(url).await?;
        let mut lock = client.lock(name)?;
        work.spawn(async move {
            lock.take().await?;
            lock.free().await?;
            Result::Ok(client)
        });
    }
    let settle = Duration::from_millis(500) + Duration::from_millis(2) * waiters as u32;
    tokio::time::sleep(settle).await;
    let begun = now();
    held.free().await?;
    let done = work.join_all().await;
    let ended = now();
    done.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(vec![ended - begun])
}

/// What this process has in memory of its own, in bytes: without the pages of program files,
/// which come in with the first use of each function, and which all processes share.
fn memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.ok_or("no RssAnon")?.parse::<u64>()? * 1024)
}
