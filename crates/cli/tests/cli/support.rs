//! What the tests of this binary share.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::stores::{Lease, Store, unique};

/// Longer than anything takes on a busy machine; only failures wait it out.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Terms that are renewed every second, and under which a lease is over in five:
/// a busy machine may keep a program waiting for seconds.
pub(crate) const SHORT: [&str; 4] = ["--ttl", "1s", "--transition", "4s"];

/// A home of its own: a directory, and a store.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    url: Option<String>,
    mutex: String,
}

impl Home {
    /// With the embedded store in it, as a user has it who names none.
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            url: None,
            mutex: unique(),
        }
    }

    /// With a store of this kind.
    pub(crate) fn on(store: Store, lease: Lease) -> Self {
        let mut home = Self::new();
        let place = store.place();
        let place = place.unwrap_or_else(|| format!("sqlite:{}", home.path("own.db").display()));
        home.url = Some(place + store.terms(lease));
        home
    }

    /// With the store that the URL names.
    pub(crate) fn at(url: impl Into<String>) -> Self {
        let mut home = Self::new();
        home.url = Some(url.into());
        home
    }

    /// A mutex that no other test has.
    pub(crate) fn mutex(&self) -> &str {
        &self.mutex
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program, with its store and its working directory here.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir.path())
            .env("XDG_STATE_HOME", self.dir.path())
            .env("TENURE", env!("CARGO_BIN_EXE_tenure"))
            .env_remove("TENURE_URL")
            .env_remove("TENURE_URL_FILE")
            .env_remove("TENURE_URL_WITHHELD")
            .env_remove("TENURE_HOLD")
            .env_remove("TENURE_HOLDERS")
            .env_remove("TENURE_MARK")
            .env_remove("TENURE_WALL_CLOCK")
            .stdin(Stdio::null());
        if let Some(url) = &self.url {
            command.env("TENURE_URL", url);
        }
        command
    }

    pub(crate) fn tenure<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_tenure"));
        command.args(words);
        command
    }

    /// `tenure run` for a shell script; in a home without a store of its own
    /// under short terms.
    pub(crate) fn run_script(&self, script: &str) -> Command {
        let mut command = self.tenure(["run", &self.mutex]);
        if self.url.is_none() {
            command.args(SHORT);
        }
        command.args(["--", "sh", "-c", script]);
        command
    }

    /// `tenure run` for who comes next, under the store's usual terms: however
    /// busy the machine is, it does not lose what it has.
    pub(crate) fn run_next(&self, script: &str) -> Command {
        let mut command = self.tenure(["run", "--wait", "30s", &self.mutex, "--", "sh", "-c"]);
        if let Some(url) = &self.url {
            let place = url
                .split_once("?ttl")
                .or_else(|| url.split_once("?session_timeout"));
            command.env("TENURE_URL", place.map_or(url.as_str(), |(place, _)| place));
        }
        command.arg(script);
        command
    }

    /// Whether the mutex is free, or will soon be.
    pub(crate) fn becomes_free(&self) -> bool {
        bounded(&mut self.run_next("true")).status.code() == Some(0)
    }

    pub(crate) fn output<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Output {
        bounded(&mut self.tenure(words))
    }

    /// What is in the file, once there is a whole line in it.
    pub(crate) fn line(&self, name: &str) -> String {
        let path = self.path(name);
        let mut text = String::new();
        eventually(&format!("there is a line in {name}"), || {
            text = fs::read_to_string(&path).unwrap_or_default();
            text.ends_with('\n')
        });
        text.trim().to_owned()
    }

    /// The number of a process that wrote it to the file.
    pub(crate) fn pid(&self, name: &str) -> Pid {
        Pid::from_raw(self.line(name).parse().unwrap()).unwrap()
    }
}

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The output of a command that is killed if it takes for ever.
pub(crate) fn bounded(command: &mut Command) -> Output {
    let process = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&process);
    let (done, is_done) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE * 5) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = process.wait_with_output().unwrap();
    drop(done);
    watchdog.join().unwrap();
    output
}

/// The exit code of a process that ends within reason.
pub(crate) fn code(process: &mut Child) -> Option<i32> {
    let mut status = None;
    eventually("the process ends", || {
        status = process.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

/// Whether a process of that number runs; one that is dead and not yet
/// collected does not.
pub(crate) fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
    let state = stat.ok().and_then(|stat| {
        let rest = stat.rsplit(')').next()?.trim().to_owned();
        rest.chars().next()
    });
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

pub(crate) fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).unwrap();
}

/// The guardian of the program `process`.
pub(crate) fn guardian_of(process: &Child) -> Pid {
    child_of(process, "tenure-guardian")
}

/// The witness beside it.
pub(crate) fn witness_of(process: &Child) -> Pid {
    child_of(process, "tenure-witness")
}

fn child_of(process: &Child, name: &str) -> Pid {
    let mut found = None;
    eventually(&format!("there is a {name}"), || {
        found = find_child(process.id(), name);
        found.is_some()
    });
    found.unwrap()
}

fn find_child(parent: u32, name: &str) -> Option<Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(Pid::from_raw).find(|pid| {
        let path = format!("/proc/{}/stat", pid.as_raw_pid());
        let stat = fs::read_to_string(path).unwrap_or_default();
        let mut rest = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        stat.contains(&format!("({name})"))
            && rest.next() != Some("Z")
            && rest.next() == Some(&parent.to_string())
    })
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A process that is killed when the test ends, however it ends.
pub(crate) struct Started(pub(crate) Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(command: &mut Command) -> Started {
    Started(command.spawn().unwrap())
}

/// One who holds the home's mutex until it is dropped, under the name `holder`.
pub(crate) fn holder(home: &Home) -> Started {
    let script = "echo > held; exec cat";
    let words = [
        "--id",
        "holder",
        "run",
        home.mutex(),
        "--",
        "sh",
        "-c",
        script,
    ];
    let holder = start(home.tenure(words).stdin(Stdio::piped()));
    home.line("held");
    holder
}

/// A terminal with a shell script on it.
pub(crate) struct Screen {
    process: Started,
    keyboard: Option<ChildStdin>,
    seen: Arc<Mutex<String>>,
}

impl Screen {
    pub(crate) fn show(home: &Home, script: &str) -> Self {
        fs::write(home.path("script.sh"), script).unwrap();
        // Whatever the tests themselves were started under, nohup perhaps.
        let mut command = home.command("env");
        command.args(["--default-signal", "script"]);
        command.args(["-qec", "sh script.sh", "/dev/null"]);
        let mut process = start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let seen = Arc::new(Mutex::new(String::new()));
        let (mut light, see) = (process.0.stdout.take().unwrap(), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(length @ 1..) = light.read(&mut piece) {
                let piece = String::from_utf8_lossy(&piece[..length]);
                see.lock().unwrap().push_str(&piece);
            }
        });
        Self {
            keyboard: process.0.stdin.take(),
            process,
            seen,
        }
    }

    /// Waits until it shows `what`, and gives all that it has shown.
    pub(crate) fn sees(&self, what: &str) -> String {
        let end = Instant::now() + PATIENCE;
        while !self.seen.lock().unwrap().contains(what) {
            let seen = self.seen.lock().unwrap().clone();
            assert!(Instant::now() < end, "never shows {what:?}, but {seen:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn types(&mut self, line: &str) {
        let keyboard = self.keyboard.as_mut().unwrap();
        writeln!(keyboard, "{line}").unwrap();
        keyboard.flush().unwrap();
    }

    /// Presses keys, without the one that ends a line.
    pub(crate) fn presses(&mut self, keys: &str) {
        let keyboard = self.keyboard.as_mut().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }

    /// The exit code of the script, which reads no more.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.keyboard.take());
        code(&mut self.process.0)
    }
}

impl Drop for Screen {
    /// A test that fails says what a person would have seen.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("on the screen: {:?}", self.seen.lock().unwrap());
        }
    }
}
