//! A store, a dashboard that shows it, and owners in processes of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::driver::Browser;

/// Longer than anything takes on a busy machine; only failures wait it out.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// The row of the mutex `arguments[0]`, and what is in it.
pub(crate) const ROW: &str = "const row = [...document.querySelectorAll('.row')].find(row => row.dataset.name === arguments[0]);";

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A process that is killed when the test ends, however it ends.
pub(crate) struct Started(pub(crate) Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send(process: &Started, signal: &str) {
    let number = process.0.id().to_string();
    let sent = Command::new("kill").args([signal, &number]).status();
    assert!(sent.unwrap().success(), "{signal}");
}

/// A directory, and the store that all of its programs use.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    pub(crate) url: String,
}

impl Home {
    /// With an embedded store.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("own.db").display());
        Self { dir, url }
    }

    /// With the store that the URL names.
    pub(crate) fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::new()
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn tenure(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(words)
            .current_dir(self.dir.path())
            .env("XDG_STATE_HOME", self.dir.path())
            .env("TENURE_URL", &self.url)
            .stdin(Stdio::null());
        for variable in ["URL_FILE", "URL_WITHHELD", "HOLD", "HOLDERS", "MARK"] {
            command.env_remove(format!("TENURE_{variable}"));
        }
        command
    }

    /// The dashboard of the store, on any port.
    pub(crate) fn dashboard(&self, more: &[&str]) -> Dashboard {
        self.dashboard_at("127.0.0.1:0", more)
    }

    pub(crate) fn dashboard_at(&self, address: &str, more: &[&str]) -> Dashboard {
        let mut command = self.tenure(&["dashboard", "--listen", address]);
        command.args(more).stdout(Stdio::piped());
        let mut process = Started(command.spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let url = lines.next().expect("it says where it is").unwrap();
        Dashboard { process, url }
    }

    /// A process that owns `name` as `id`, or waits for it.
    pub(crate) fn contender(&self, id: &str, name: &str) -> Contender {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let held = self.path(&format!("{number}.held"));
        let script = r#"date +%s%3N > "$HELD.new" && mv "$HELD.new" "$HELD" && exec cat"#;
        let mut command = self.tenure(&["--id", id, "run", name, "--", "sh", "-c", script]);
        command.env("HELD", &held).stdin(Stdio::piped());
        let process = command.spawn().unwrap();
        Contender {
            process: Started(process),
            held,
        }
    }

    /// Leads a schedule until it has run once.
    pub(crate) fn schedule_once(&self, name: &str) {
        let ran = self.path(&format!("{name}.ran"));
        let mut command = self.tenure(&["schedule", name, "--every", "1s", "--", "touch"]);
        let mut process = Started(command.arg(&ran).spawn().unwrap());
        eventually("it has run", || ran.exists());
        send(&process, "-TERM");
        let _ = process.0.wait();
    }

    /// The same, when it owns.
    pub(crate) fn owner(&self, id: &str, name: &str) -> Contender {
        let contender = self.contender(id, name);
        contender.owns();
        contender
    }
}

/// `tenure dashboard`, and where it is.
pub(crate) struct Dashboard {
    process: Started,
    pub(crate) url: String,
}

impl Dashboard {
    /// `127.0.0.1:PORT`
    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches('/')
    }

    /// Sends it a signal, as in `kill -STOP`.
    pub(crate) fn signal(&self, name: &str) {
        send(&self.process, name);
    }

    pub(crate) fn open(&self) -> Browser {
        Browser::open(&self.url)
    }
}

/// `tenure run` with a command that reads until its input ends.
pub(crate) struct Contender {
    process: Started,
    held: PathBuf,
}

impl Contender {
    /// Waits until it owns, and says since when, in milliseconds since 1970.
    pub(crate) fn owns(&self) -> u64 {
        let mut text = String::new();
        eventually("it owns", || {
            text = fs::read_to_string(&self.held).unwrap_or_default();
            !text.is_empty()
        });
        text.trim().parse().unwrap()
    }

    /// Ends its command, and with it its ownership.
    pub(crate) fn release(mut self) {
        drop(self.process.0.stdin.take());
        let _ = self.process.0.wait();
    }

    /// Kills the program, which then releases nothing.
    pub(crate) fn kill(&mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        drop(self.process.0.stdin.take());
        let _ = self.process.0.kill();
    }
}

impl Browser {
    /// Waits until the row of `name` has this text in the part `part`.
    pub(crate) fn shows(&self, name: &str, part: &str, text: &str) {
        let script = format!(
            "{ROW} return row?.querySelector('.' + arguments[1])?.innerText.includes(arguments[2])"
        );
        let what = format!("{part} of {name} is {text}");
        self.until(&what, &script, &[name, part, text]);
    }
}
