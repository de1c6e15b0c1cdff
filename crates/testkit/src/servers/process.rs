//! The life of a server: started, paused, killed, brought back, removed.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::error::ServerError;
use super::extras::{CLOCK, FULL};
use super::{home, tree, wait};

/// What differs between the servers.
pub(super) trait Recipe: fmt::Debug + Send + Sync {
    /// Fills the empty data directory, which lies in the server's directory.
    fn fill(&self, data: &Path) -> Result<(), ServerError>;

    /// Writes what has to be there before each start, and says what to run.
    fn command(&self, directory: &Path) -> Result<Command, ServerError>;

    /// Asks the server, in its own protocol, whether it serves. The error says why not.
    fn ready(&self) -> io::Result<()>;

    /// The signal that asks for a quick but orderly end.
    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }
}

/// A running server with its directory, port and log.
///
/// All methods take `&self`, so that one thread can break a server another one uses. Dropping it
/// kills the server and removes its directory. If the test process itself is killed, or ends
/// while a server is kept in a `static`, a watchdog does the same.
#[derive(Debug)]
pub struct Process {
    recipe: Box<dyn Recipe>,
    directory: PathBuf,
    child: Mutex<Option<Child>>,
}

impl Process {
    /// Prepares a directory; nothing runs yet.
    pub(super) fn prepare(kind: &str, recipe: Box<dyn Recipe>) -> Result<Self, ServerError> {
        let directory = home::directory(kind)?;
        // From here on Drop removes the directory, whatever fails.
        let process = Process {
            recipe,
            directory,
            child: Mutex::new(None),
        };
        process.fill()?;
        Ok(process)
    }

    /// Prepares a directory and starts the server.
    pub(super) fn launch(kind: &str, recipe: Box<dyn Recipe>) -> Result<Self, ServerError> {
        let process = Process::prepare(kind, recipe)?;
        process.start()?;
        Ok(process)
    }

    /// Starts the server on its port with the data it has, and waits until it serves. Does
    /// nothing but wait if it runs.
    pub fn start(&self) -> Result<(), ServerError> {
        self.spawn()?;
        self.wait_ready()
    }

    /// Starts the server without waiting: a member of an ensemble serves only with the others.
    pub fn spawn(&self) -> Result<(), ServerError> {
        let mut child = self.child();
        if let Some(running) = child.as_mut()
            && running.try_wait()?.is_none()
        {
            return Ok(());
        }
        let command = self.recipe.command(&self.directory)?;
        let name = command.get_program().to_string_lossy().into_owned();
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.log_file())?;
        let mut recorded = home::command("sh", &self.directory);
        recorded
            .args(["-c", home::RECORD_AND_RUN])
            .arg(self.pid_file());
        recorded.arg(command.get_program()).args(command.get_args());
        recorded.envs(
            command
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        );
        recorded.stdout(log.try_clone()?).stderr(log);
        // A group of its own: the terminal's Ctrl-C is for the tests; the watchdog follows.
        recorded.process_group(0);
        *child = Some(recorded.spawn().map_err(ServerError::doing(name))?);
        Ok(())
    }

    /// Waits until the server answers in its own protocol.
    pub fn wait_ready(&self) -> Result<(), ServerError> {
        let end = Instant::now() + wait::LIMIT;
        loop {
            let why = match self.recipe.ready() {
                Ok(()) => return Ok(()),
                Err(why) => why,
            };
            match self
                .child()
                .as_mut()
                .map(Child::try_wait)
                .transpose()?
                .flatten()
            {
                Some(status) => return Err(self.trouble(&format!("it ended with {status}"))),
                None if Instant::now() > end => {
                    return Err(self.trouble(&format!("not ready in {:?}: {why}", wait::LIMIT)));
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Ends the server in an orderly way; kills it if that takes longer than 30 s.
    pub fn stop(&self) -> Result<(), ServerError> {
        if let Some(pid) = self.pid() {
            tree::thaw(pid)?;
            tree::signal(pid, self.recipe.stop_signal())?;
            let end = Instant::now() + Duration::from_secs(30);
            while Instant::now() < end && tree::any_alive(&[pid]) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        self.kill()
    }

    /// Kills the server with SIGKILL, all its processes at one moment, and waits for their end.
    /// Does nothing if it does not run.
    pub fn kill(&self) -> Result<(), ServerError> {
        self.end(&mut self.child())
    }

    fn end(&self, slot: &mut Option<Child>) -> Result<(), ServerError> {
        let Some(mut child) = slot.take() else {
            return Ok(());
        };
        let pids = match child.try_wait()? {
            Some(_) => Vec::new(),
            None => tree::freeze(child.id() as i32).unwrap_or_else(|_| vec![child.id() as i32]),
        };
        for &pid in &pids {
            tree::signal(pid, Signal::KILL)?;
        }
        // Before the process id is given back to the system, so that the watchdog cannot hit
        // a stranger.
        let _ = fs::remove_file(self.pid_file());
        child.wait()?;
        wait::until_true("the end of a server", || !tree::any_alive(&pids))
    }

    /// Stops the server with SIGSTOP: its connections stay open and nothing answers.
    pub fn pause(&self) -> Result<(), ServerError> {
        match self.pid() {
            Some(pid) => tree::freeze(pid)
                .map(drop)
                .map_err(ServerError::doing("SIGSTOP")),
            None => Err(ServerError::new(
                "a server that does not run cannot be paused",
            )),
        }
    }

    /// Lets a paused server go on.
    pub fn resume(&self) -> Result<(), ServerError> {
        match self.pid() {
            Some(pid) => tree::thaw(pid).map_err(ServerError::doing("SIGCONT")),
            None => Err(ServerError::new("a server that does not run cannot go on")),
        }
    }

    /// Kills the server and starts it again: what it had written to disk is kept.
    pub fn restart(&self) -> Result<(), ServerError> {
        self.kill()?;
        self.start()
    }

    /// Kills the server and starts it again as if it were new.
    pub fn restart_empty(&self) -> Result<(), ServerError> {
        self.wipe()?;
        self.start()
    }

    /// Kills the server and forgets its data; [`start`](Process::start) brings it back empty.
    pub fn wipe(&self) -> Result<(), ServerError> {
        // No other thread starts it on half of its data.
        let mut child = self.child();
        self.end(&mut child)?;
        fs::remove_dir_all(self.data()).map_err(ServerError::doing(self.data().display()))?;
        self.fill()
    }

    /// Sets its wall clock so far ahead of the machine's; with zero it is right again. It tells
    /// the time by it if its builder was told `own_clock`, also after a restart. Of ZooKeeper it is
    /// every clock.
    pub fn set_clock(&self, ahead: Duration) -> Result<(), ServerError> {
        self.write_clock(&format!("+{:.6}s", ahead.as_secs_f64()))
    }

    /// The same so far behind.
    pub fn set_clock_back(&self, behind: Duration) -> Result<(), ServerError> {
        self.write_clock(&format!("-{:.6}s", behind.as_secs_f64()))
    }

    /// Fills its disk, or makes room again. It notices if its builder was told `own_disk`.
    pub fn fill_disk(&self, is_full: bool) -> Result<(), ServerError> {
        let file = self.directory.join(FULL);
        match is_full {
            true => Ok(fs::write(file, "")?),
            // There may be room already.
            false => {
                let _ = fs::remove_file(file);
                Ok(())
            }
        }
    }

    fn write_clock(&self, offset: &str) -> Result<(), ServerError> {
        let file = self.directory.join(CLOCK);
        let new = file.with_extension("new");
        // Whole, or the server would read half of it.
        fs::write(&new, offset)?;
        home::give(&new, 0o600)?;
        Ok(fs::rename(&new, &file)?)
    }

    /// The process id, if it runs.
    pub fn pid(&self) -> Option<i32> {
        let mut child = self.child();
        let child = child.as_mut()?;
        let runs = matches!(child.try_wait(), Ok(None));
        runs.then(|| child.id() as i32)
    }

    /// The server's directory. It is removed on drop.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the server has written since its first start.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn fill(&self) -> Result<(), ServerError> {
        let data = self.data();
        fs::create_dir(&data)?;
        home::give(&data, 0o700)?;
        self.recipe.fill(&data)
    }

    fn trouble(&self, what: &str) -> ServerError {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(40)..].join("\n");
        ServerError::new(format!(
            "{}: {what}; its log:\n{tail}",
            self.directory.display()
        ))
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.directory.join("log")
    }

    fn pid_file(&self) -> PathBuf {
        self.directory.join("pid")
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing useful can be done about an error here; the watchdog tries again at the end.
        let _ = self.kill();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
