//! The desk: a socket at which a holder tells what it holds, and is asked to
//! let go. Its name lies in no file system, so nothing is left behind; the
//! kernel says who asks, and only this user and root are answered.

use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

/// The holds of a script, outermost first: the ids of their holders.
pub(crate) const VARIABLE: &str = "TENURE_HOLD";
/// A holder that has not answered for so long is stopped.
const PATIENCE: Duration = Duration::from_secs(5);
const ID: usize = 32;

/// What a holder holds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Held {
    pub(crate) name: String,
    pub(crate) token: String,
    pub(crate) contender: String,
}

/// How a release went.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Outcome {
    /// Why it was not held until now.
    pub(crate) lost: Option<String>,
    /// Why it may stay held for a while.
    pub(crate) doubt: Option<String>,
    /// Who was started under the lock and still works.
    pub(crate) working: Vec<String>,
}

pub(crate) fn new_id() -> String {
    format!("{:0width$x}", fastrand::u128(..), width = ID)
}

/// The ids in the environment.
pub(crate) fn ids() -> Vec<String> {
    let ids = std::env::var(VARIABLE).unwrap_or_default();
    let is_id = |id: &&str| id.len() == ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let ids = ids.split_whitespace().filter(is_id);
    ids.map(str::to_owned).collect()
}

fn address(id: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("tenure-hold-{id}"))
}

/// Whether there is a holder of this id.
pub(crate) fn is_open(id: &str) -> bool {
    address(id)
        .and_then(|at| UnixStream::connect_addr(&at))
        .is_ok()
}

/// A visitor at the desk of a holder.
#[derive(Debug)]
pub(crate) struct Visit {
    line: BufReader<UnixStream>,
    /// What the holder has told; `None` if it says nothing.
    pub(crate) held: Option<Held>,
}

impl Visit {
    /// Goes to the desks of all holders that the environment names and that
    /// are there.
    pub(crate) fn all() -> Vec<Self> {
        ids().iter().filter_map(|id| Self::at(id).ok()).collect()
    }

    fn at(id: &str) -> io::Result<Self> {
        let stream = UnixStream::connect_addr(&address(id)?)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut line = BufReader::new(stream);
        let held = match heard(&mut line) {
            Ok(held) => Some(held),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) => return Err(error),
        };
        Ok(Self { line, held })
    }

    pub(crate) fn name(&self) -> Option<String> {
        self.held.as_ref().map(|held| held.name.clone())
    }

    /// Asks the holder to let go, and waits until it has. `slow` is called
    /// when that takes long.
    pub(crate) fn release(mut self, slow: impl FnOnce()) -> io::Result<Outcome> {
        self.line.get_mut().write_all(b"release\n")?;
        match heard(&mut self.line) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => slow(),
            told => return told,
        }
        self.line.get_mut().set_read_timeout(None)?;
        heard(&mut self.line)
    }
}

fn heard<T: for<'de> Deserialize<'de>>(line: &mut impl BufRead) -> io::Result<T> {
    let mut text = String::new();
    line.read_line(&mut text)?;
    serde_json::from_str(&text).map_err(|_| io::ErrorKind::UnexpectedEof.into())
}

/// One who has asked for the release, and waits for the outcome.
#[derive(Debug)]
pub(super) struct Asker(tokio::net::UnixStream);

impl Asker {
    /// Its number, where the kernel knows it.
    pub(super) fn pid(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.0.peer_cred().ok()?.pid()?)
    }

    pub(super) async fn tell(mut self, outcome: &Outcome) {
        let text = serde_json::to_string(outcome).expect("our own values are JSON");
        // One that went away does not hear it.
        let _ = self.0.write_all(format!("{text}\n").as_bytes()).await;
    }
}

/// An open desk.
#[derive(Debug)]
pub(super) struct Desk {
    asked: mpsc::UnboundedReceiver<Asker>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Desk {
    /// The next one who asks for the release.
    pub(super) async fn asked(&mut self) -> Asker {
        match self.asked.recv().await {
            Some(asker) => asker,
            None => std::future::pending().await,
        }
    }

    /// The desk is closed from now on: a visitor finds none.
    pub(super) async fn close(&mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }
}

/// Opens the desk of the holder `id`.
pub(super) fn open(id: &str, held: &Held) -> io::Result<Desk> {
    let listener = UnixListener::bind_addr(&address(id)?)?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(listener)?;
    let greeting = serde_json::to_string(held).expect("our own values are JSON") + "\n";
    let (tell, asked) = mpsc::unbounded_channel();
    let accepting = tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Too many files are open: some will be closed.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let user = stream.peer_cred().map(|peer| peer.uid());
            if user.is_ok_and(|user| user == 0 || user == geteuid().as_raw()) {
                let (greeting, tell) = (greeting.clone(), tell.clone());
                tokio::spawn(async move {
                    let asked = serve(stream, &greeting);
                    if let Ok(Some(asker)) = tokio::time::timeout(PATIENCE * 2, asked).await {
                        let _ = tell.send(asker);
                    }
                });
            }
        }
    });
    Ok(Desk { asked, accepting })
}

/// Greets a visitor; comes back with one that asks for the release.
async fn serve(mut stream: tokio::net::UnixStream, greeting: &str) -> Option<Asker> {
    stream.write_all(greeting.as_bytes()).await.ok()?;
    let mut word = [0; 8];
    stream.read_exact(&mut word).await.ok()?;
    (&word == b"release\n").then_some(Asker(stream))
}
