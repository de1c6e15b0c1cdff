//! What the locks protect: for each mutex a register that checks tokens, and one that does not.
//!
//! They are in the driver, which is not broken, so that a worker that is stopped in the middle of
//! a write keeps no other from writing.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tenure::lock::Fence;
use tenure::model::FencingToken;
use tenure_testkit::history::What;

use crate::log::Log;

/// How the registers are called in a history.
pub const FENCED: &str = "fenced";
/// The one that takes every write.
pub const PLAIN: &str = "plain";

/// The registers of all mutexes of a run.
#[derive(Debug)]
pub struct Registers {
    fences: Mutex<BTreeMap<String, Fence>>,
    log: Arc<Log>,
}

impl Registers {
    /// Nothing is written yet; `log` is told of every write.
    #[must_use]
    pub fn new(log: &Arc<Log>) -> Arc<Self> {
        Arc::new(Self {
            fences: Mutex::default(),
            log: Arc::clone(log),
        })
    }

    /// Serves them at `socket` for as long as this process lives.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn serve(self: Arc<Self>, socket: &Path) -> io::Result<()> {
        let listener = UnixListener::bind(socket)?;
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let registers = Arc::clone(&self);
                // A worker that dies ends its own connection only.
                std::thread::spawn(move || registers.carry(stream));
            }
        });
        Ok(())
    }

    fn carry(&self, stream: UnixStream) -> io::Result<()> {
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 {
            let (name, token) = line.trim().split_once(' ').unwrap_or_default();
            let token = token.parse().map_err(io::Error::other)?;
            let accepted = self.write(name, token);
            let answer = if accepted { "accepted\n" } else { "refused\n" };
            lines.get_mut().write_all(answer.as_bytes())?;
            line.clear();
        }
        Ok(())
    }

    /// Writes to both registers of `name`; whether the one that checks tokens accepted.
    pub fn write(&self, name: &str, token: FencingToken) -> bool {
        let mut fences = self.fences.lock().unwrap_or_else(PoisonError::into_inner);
        let fence = fences.entry(name.to_owned()).or_default();
        let accepted = fence.admit(token).is_ok();
        for (register, accepted) in [(FENCED, accepted), (PLAIN, true)] {
            let written = What::Written {
                resource: format!("{register} {name}").into(),
                token,
                accepted,
            };
            self.log.note("registers", written);
        }
        accepted
    }
}
