//! The workers, killed, stopped and begun again.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tenure_testkit::peer::SameChance;

use crate::log::Log;
use crate::worker::{Habit, Orders, Store};

/// Where a process reads which boot of the machine it lives in.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The workers of a run. Dropped, they are killed.
#[derive(Debug)]
pub struct Fleet {
    /// Of each worker; its process has another name in every life.
    orders: Vec<Orders>,
    lives: Vec<Mutex<Option<Life>>>,
    lived: AtomicU64,
    log: Arc<Log>,
    /// Compiled when it is first needed.
    chance: OnceLock<SameChance>,
}

/// One process.
#[derive(Debug)]
struct Life {
    child: Child,
    /// Its end is the worker's.
    input: ChildStdin,
    listener: Option<JoinHandle<()>>,
}

/// In what surroundings a worker lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings<'a> {
    /// Those of the run.
    Usual,
    /// A container that shows this file as the id of its boot.
    OtherBoot(&'a Path),
    /// A container whose clock since boot is so far ahead.
    OtherTime(Duration),
    /// The copy of a machine: every random byte of the system's is the same as the other copy's,
    /// and so is the process id.
    SameChance,
    /// Those of the run; it is the worker that is otherwise.
    With(Habit),
}

impl Surroundings<'_> {
    /// What a worker is started by.
    fn command(self, fleet: &Fleet) -> io::Result<Command> {
        let program = std::env::current_exe()?;
        let mut command = match self {
            Self::Usual | Self::With(_) => return Ok(Command::new(program)),
            Self::SameChance => {
                let mut unshare = Command::new("unshare");
                let chance = fleet.chance.get_or_init(SameChance::new);
                unshare.env("LD_PRELOAD", chance.library());
                unshare.args(["--map-root-user", "--pid", "--fork", "--kill-child", "--"]);
                unshare
            }
            Self::OtherBoot(file) => {
                let mount = format!("mount --bind '{}' {BOOT_ID}", file.display());
                let mut unshare = Command::new("unshare");
                unshare.args(["--map-root-user", "--mount", "sh", "-c"]);
                unshare.args([&format!("{mount} && exec \"$@\""), "sh"]);
                unshare
            }
            Self::OtherTime(ahead) => {
                let ahead = ahead.as_secs().to_string();
                let mut unshare = Command::new("unshare");
                unshare.args(["--map-root-user", "--time", "--boottime", &ahead]);
                unshare.args(["--fork", "--kill-child", "--"]);
                unshare
            }
        };
        command.arg(program);
        Ok(command)
    }
}

impl Fleet {
    /// Starts a worker for each of the orders.
    ///
    /// # Errors
    /// When a process cannot be started.
    pub fn start(orders: Vec<Orders>, log: &Arc<Log>) -> io::Result<Self> {
        let fleet = Self {
            lives: orders.iter().map(|_| Mutex::default()).collect(),
            orders,
            lived: AtomicU64::new(0),
            log: Arc::clone(log),
            chance: OnceLock::new(),
        };
        (0..fleet.size()).try_for_each(|at| fleet.begin(at, Surroundings::Usual))?;
        Ok(fleet)
    }

    /// How many there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.orders.len()
    }

    /// The name of a worker over all its lives.
    #[must_use]
    pub fn name(&self, at: usize) -> &str {
        &self.orders[at].process
    }

    fn life(&self, at: usize) -> MutexGuard<'_, Option<Life>> {
        self.lives[at]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a life of a worker, unless it lives.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn begin(&self, at: usize, surroundings: Surroundings<'_>) -> io::Result<()> {
        let mut slot = self.life(at);
        if slot.is_some() {
            return Ok(());
        }
        let lived = self.lived.fetch_add(1, Ordering::Relaxed);
        let mut orders = self.orders[at].clone();
        orders.process = format!("{}.{lived}", orders.process);
        orders.seed = orders.seed.wrapping_mul(31).wrapping_add(lived);
        if let Surroundings::OtherTime(ahead) = surroundings {
            orders.ahead = ahead;
        }
        if let Surroundings::With(habit) = surroundings {
            orders.habit = habit;
        }
        let mut command = surroundings.command(self)?;
        command.arg("worker").arg(serde_json::to_string(&orders)?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Stopped with all that it is made of.
        command.process_group(0);
        let mut child = command.spawn()?;
        let input = child.stdin.take().expect("it is piped");
        let output = child.stdout.take().expect("it is piped");
        let log = Arc::clone(&self.log);
        let listener = std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // What its death cut in two is no event.
                if let Ok(event) = line.parse() {
                    log.add(event);
                }
            }
        });
        *slot = Some(Life {
            child,
            input,
            listener: Some(listener),
        });
        Ok(())
    }

    /// Kills a worker, at once; whether it lived.
    pub fn kill(&self, at: usize) -> bool {
        self.life(at).take().is_some()
    }

    /// Stops a worker where it stands; whether it lived.
    pub fn stop(&self, at: usize) -> bool {
        self.signal(at, Signal::STOP)
    }

    /// Lets a stopped worker go on.
    pub fn go_on(&self, at: usize) -> bool {
        self.signal(at, Signal::CONT)
    }

    fn signal(&self, at: usize, signal: Signal) -> bool {
        // One that has ended by itself is begun anew by `mend`.
        self.life(at)
            .as_ref()
            .is_some_and(|life| kill_process_group(Pid::from_child(&life.child), signal).is_ok())
    }

    /// The workers whose wall clocks can be set.
    #[must_use]
    pub fn with_clocks(&self) -> Vec<usize> {
        let all = self.orders.iter().enumerate();
        let with = all.filter(|(_, orders)| orders.sets_clock);
        with.map(|(at, _)| at).collect()
    }

    /// Sets the wall clock of a worker ahead, or back; whether it was told to.
    pub fn set_clock(&self, at: usize, ahead: bool, by: Duration) -> bool {
        let way = if ahead { "ahead" } else { "back" };
        self.tell(at, &format!("{way} {}", by.as_millis()))
    }

    /// Lets the clock of a worker gain or lose time for so long: a 500th, which is promised to be
    /// borne.
    pub fn drift_clock(&self, at: usize, gains: bool, length: Duration) -> bool {
        let way = if gains { "fast" } else { "slow" };
        self.tell(at, &format!("{way} {}", length.as_millis()))
    }

    /// Asks a worker to end in its own time; whether it was told to.
    pub fn ask_to_end(&self, at: usize) -> bool {
        self.tell(at, "end")
    }

    /// Whether all contend in one store, and not at nodes that make a lock together.
    #[must_use]
    pub fn has_one_store(&self) -> bool {
        let is_one = |orders: &Orders| matches!(orders.store, Store::Url(_));
        self.orders.iter().all(is_one)
    }

    fn tell(&self, at: usize, line: &str) -> bool {
        let line = format!("{line}\n");
        self.life(at)
            .as_mut()
            .is_some_and(|life| life.input.write_all(line.as_bytes()).is_ok())
    }

    /// All live and go on; those that ended and were not killed.
    ///
    /// # Errors
    /// When a process cannot be started.
    pub fn mend(&self) -> io::Result<Vec<String>> {
        let mut ended = Vec::new();
        for at in 0..self.size() {
            self.go_on(at);
            let status = match &mut *self.life(at) {
                Some(life) => life.child.try_wait()?,
                None => None,
            };
            if let Some(status) = status {
                ended.push(format!("{} ended with {status}", self.name(at)));
                self.kill(at);
            }
            self.begin(at, Surroundings::Usual)?;
        }
        Ok(ended)
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        if let Some(listener) = self.listener.take() {
            // What it had told before is part of the history.
            let _ = listener.join();
        }
    }
}
