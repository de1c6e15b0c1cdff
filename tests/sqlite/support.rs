//! A file in a folder of its own, and those who use it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tenure::backend::AnyBackend;
use tenure::backend::url::StoreUrl;
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::{Result, stores};
use tenure_testkit::contract::Subject;

/// Longer than anything here takes on a machine that is busy with other things.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// As a user who owns nothing.
pub(crate) const NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

/// Another program that has a lock (`flock`) on a file, until it is dropped.
#[derive(Debug)]
pub(crate) struct Stranger(Child);

impl Stranger {
    /// Locks `path` as `how` says, run through `command`; `None` when it cannot.
    pub(crate) fn locking(command: &[&str], how: &str, path: &Path) -> Option<Self> {
        // Not forked: whatever ends it ends the lock.
        let mut words = command.to_vec();
        words.extend(["flock", how, "--no-fork"]);
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .arg(path)
            .args(["sh", "-c", "echo held; exec sleep 600"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("flock");
        let mut said = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut said).expect("its word");
        let stranger = Self(child);
        (said.trim() == "held").then_some(stranger)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A place for a file, removed with it.
#[derive(Debug)]
pub(crate) struct TestFile {
    folder: TempDir,
    options: &'static str,
}

impl TestFile {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// With these options in its URL, as in `"?wake=poll"`.
    pub(crate) fn with(options: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        Self { folder, options }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("locks.db")
    }

    /// The file whose name goes on with `end`.
    pub(crate) fn beside(&self, end: &str) -> PathBuf {
        self.folder.path().join(format!("locks.db{end}"))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}{}", self.file().display(), self.options)
    }

    pub(crate) async fn open(&self) -> AnyBackend {
        open(&self.url())
            .await
            .unwrap_or_else(|error| panic!("{}: {error:?}", self.url()))
    }

    /// The file as another program sees it.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.file()).expect("the file is there");
        connection.busy_timeout(SOON).expect("a busy timeout");
        connection
    }
}

pub(crate) async fn open(url: &str) -> Result<AnyBackend> {
    stores::open(&StoreUrl::parse(url)?, Clock::boot()).await
}

impl Subject for TestFile {
    type Backend = AnyBackend;

    async fn client(&self) -> Result<AnyBackend> {
        open(&self.url()).await
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }

    /// Half of the usual: a call takes microseconds here.
    fn terms(&self) -> LeaseTerms {
        LeaseTerms::new(Duration::from_millis(600), Duration::from_millis(400))
            .expect("both are long enough")
    }
}

pub(crate) fn name(text: &str) -> MutexName {
    MutexName::new(text).expect("a valid name")
}

pub(crate) fn id(text: &str) -> ContenderId {
    ContenderId::new(text).expect("a valid id")
}

/// Terms of `millis` in all, a quarter of them transition.
pub(crate) fn terms(millis: u64) -> LeaseTerms {
    let quarter = Duration::from_millis(millis / 4);
    LeaseTerms::new(quarter * 3, quarter).expect("long enough")
}
