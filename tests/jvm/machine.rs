//! A Java machine with one of the libraries, told what to do line by line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use tenure_testkit::servers::find::Server;

use crate::turns::Turn;

/// How long anything may take on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A library in one version, and the class of `tests/jvm/java` that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Library {
    /// Its profile in `tests/jvm/pom.xml`.
    pub(crate) profile: &'static str,
    pub(crate) version: &'static str,
    pub(crate) class: &'static str,
}

impl Library {
    /// The class path, with its program compiled; made once in a run.
    fn classes(self) -> String {
        static MADE: LazyLock<Mutex<BTreeMap<Library, String>>> = LazyLock::new(Mutex::default);
        // One at a time: they share Maven's store.
        let mut made = MADE.lock().unwrap();
        made.entry(self).or_insert_with(|| self.make()).clone()
    }

    fn make(self) -> String {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("jvm")
            .join(format!("{}-{}", self.profile, self.version));
        std::fs::create_dir_all(&folder).unwrap();
        let path = self.jars(&folder.join("jars"));
        let source = |class: &str| sources().join("java").join(format!("{class}.java"));
        let compiled = Command::new(Server::Curator.find("javac").unwrap())
            .args([Path::new("-d"), &folder])
            .args([source("Worker"), source(self.class)])
            .args(["-cp", &path])
            .status();
        assert!(compiled.unwrap().success(), "{self:?} compiles");
        format!("{path}:{}", folder.display())
    }

    /// Its jars and those that it needs, as Maven finds them.
    fn jars(self, list: &Path) -> String {
        let known = std::fs::read_to_string(list).unwrap_or_default();
        if !known.is_empty() && known.split(':').all(|jar| Path::new(jar).is_file()) {
            return known;
        }
        let asked = Command::new("mvn")
            .args(["-B", "-q", "dependency:build-classpath", "-P", self.profile])
            .arg(format!("-Dversion.{}={}", self.profile, self.version))
            .arg(format!("-Dmdep.outputFile={}", list.display()))
            .current_dir(sources())
            .output()
            .expect("Maven runs");
        let said = String::from_utf8_lossy(&asked.stdout);
        assert!(asked.status.success(), "{self:?} is to be had: {said}");
        std::fs::read_to_string(list).unwrap()
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm")
}

/// A process with one lock. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Jvm {
    child: Child,
    commands: ChildStdin,
    lines: Receiver<String>,
}

impl Jvm {
    pub(crate) fn start(library: Library, words: &[String]) -> Self {
        let mut child = Command::new(Server::ZooKeeper.find("java").unwrap())
            .args(["-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .args(["-cp", &library.classes(), "Worker", library.class])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Java runs");
        let commands = child.stdin.take().expect("it is piped");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        let mut jvm = Self {
            child,
            commands,
            lines,
        };
        let first = jvm.line();
        assert_eq!(first, "ready");
        jvm
    }

    pub(crate) fn tell(&mut self, command: &str) {
        writeln!(self.commands, "{command}").expect("the JVM listens");
    }

    fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE);
        line.unwrap_or_else(|error| panic!("the JVM says nothing: {error}"))
    }

    /// When it was so, and the token, from a line `WORD NANOS TOKEN`.
    pub(crate) fn hear(&mut self, word: &str) -> (u64, u64) {
        let line = self.line();
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some(word), "{line}");
        let mut number = || words.next().and_then(|word| word.parse().ok());
        let heard = number().zip(number());
        heard.unwrap_or_else(|| panic!("two numbers: {line}"))
    }

    /// Whether it says nothing for so long.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        matches!(
            self.lines.recv_timeout(time),
            Err(RecvTimeoutError::Timeout)
        )
    }

    /// What it did since it was told to churn.
    pub(crate) fn turns(&mut self) -> Vec<Turn> {
        let end = Instant::now() + PATIENCE;
        let mut turns = Vec::new();
        while Instant::now() < end {
            let line = self.line();
            if line == "done" {
                return turns;
            }
            let numbers: Vec<u64> = line
                .split(' ')
                .skip(1)
                .map(|word| word.parse().unwrap_or_else(|_| panic!("{line}")))
                .collect();
            let [from, until, token] = numbers[..] else {
                panic!("not a turn: {line}");
            };
            turns.push(Turn {
                of_jvm: true,
                from,
                until,
                token,
            });
        }
        panic!("the JVM does not end");
    }

    /// By SIGKILL: it can say nothing more.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
