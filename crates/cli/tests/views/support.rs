//! A terminal of its own for every test, kept by tmux.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine; only failures wait it out.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A directory with a store in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A program, with the default store and its temporary files here.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.0.path())
            .env("XDG_STATE_HOME", self.0.path())
            .env("TMPDIR", self.0.path())
            .env("TENURE", env!("CARGO_BIN_EXE_tenure"))
            .env_remove("TENURE_URL")
            .env_remove("TENURE_URL_FILE")
            .env_remove("TENURE_URL_WITHHELD")
            .env_remove("TENURE_HOLD")
            .env_remove("TENURE_HOLDERS")
            .env_remove("TENURE_MARK")
            .env_remove("TENURE_WALL_CLOCK")
            .env_remove("NO_COLOR");
        command
    }

    pub(crate) fn tenure(&self, words: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_tenure"));
        command.args(words);
        command
    }

    /// What is in a file, once there is a whole line in it.
    pub(crate) fn line(&self, name: &str) -> String {
        let mut text = String::new();
        eventually(&format!("there is a line in {name}"), || {
            text = fs::read_to_string(self.path(name)).unwrap_or_default();
            text.ends_with('\n')
        });
        text.trim().to_owned()
    }
}

/// A terminal with a shell script on it.
pub(crate) struct Screen {
    socket: String,
}

impl Screen {
    /// Runs `"$TENURE" WORDS`, writes its exit code to the file `code`, and
    /// stays: what is on the screen then can be seen.
    pub(crate) fn show(home: &Home, size: (u16, u16), words: &str) -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let socket = format!("tenure-{}-{number}", std::process::id());
        let screen = Self { socket };
        let script = format!(
            "trap : INT; stty -g > before; \"$TENURE\" {words}; code=$?; \
             stty -g > after; echo $code > code; exec cat"
        );
        fs::write(home.path("script.sh"), script).unwrap();
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let mut tmux = home.command("tmux");
        tmux.args(["-L", &screen.socket, "-f", "/dev/null", "new-session", "-d"]);
        tmux.args(["-x", &width, "-y", &height, "sh script.sh"]);
        let started = tmux.output().expect("tmux is installed");
        assert!(started.status.success(), "{started:?}");
        screen
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.socket])
            .args(words)
            .output()
            .unwrap()
    }

    /// What is on it now.
    pub(crate) fn text(&self) -> String {
        let seen = self.tmux(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&seen.stdout).into_owned()
    }

    /// With the sequences that colour it.
    pub(crate) fn coloured(&self) -> String {
        let seen = self.tmux(&["capture-pane", "-p", "-e"]);
        String::from_utf8_lossy(&seen.stdout).into_owned()
    }

    /// Waits until what it shows is as wanted.
    pub(crate) fn shows(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < end, "never: {what}; it shows\n{text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn sees(&self, part: &str) -> String {
        self.shows(part, |text| text.contains(part))
    }

    pub(crate) fn types(&self, key: &str) {
        assert!(self.tmux(&["send-keys", key]).status.success());
    }

    /// Whether a view has taken it.
    pub(crate) fn is_taken(&self) -> bool {
        self.told("#{alternate_on}") == "1"
    }

    /// The exit code of the program, which must have left the terminal as it
    /// found it.
    pub(crate) fn code(&self, home: &Home) -> String {
        let code = home.line("code");
        eventually("the normal screen and its cursor are back", || {
            self.told("#{alternate_on} #{cursor_flag}") == "0 1"
        });
        assert_eq!(home.line("before"), home.line("after"));
        code
    }

    fn told(&self, format: &str) -> String {
        let told = self.tmux(&["display-message", "-p", format]);
        String::from_utf8_lossy(&told.stdout).trim().to_owned()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// The processes with this text in their arguments.
pub(crate) fn processes(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(text)).collect()
}

/// A process that is killed when the test ends, however it ends.
pub(crate) struct Started(pub(crate) Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One that holds the mutex `name` under the id `id` until it is dropped.
pub(crate) struct Holder(Started);

pub(crate) fn holder(home: &Home, id: &str, name: &str) -> Holder {
    let words = [
        "--id",
        id,
        "run",
        name,
        "--",
        "sh",
        "-c",
        "echo $TENURE_TOKEN > token; echo > held; exec cat",
    ];
    let process = home.tenure(&words).stdin(Stdio::piped()).spawn().unwrap();
    let holder = Holder(Started(process));
    home.line("held");
    holder
}

impl Drop for Holder {
    fn drop(&mut self) {
        // What it reads ends, and so does it, and gives the mutex back.
        drop(self.0.0.stdin.take());
        let _ = self.0.0.wait();
    }
}
