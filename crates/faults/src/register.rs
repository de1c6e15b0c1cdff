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

type Fences = Mutex<BTreeMap<String, Fence>>;

/// Serves the registers at `socket` for as long as this process lives.
///
/// # Errors
/// When the socket cannot be made.
pub fn serve(socket: &Path, log: &Arc<Log>) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    let (fences, log) = (Arc::new(Fences::default()), Arc::clone(log));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (fences, log) = (Arc::clone(&fences), Arc::clone(&log));
            // A worker that dies ends its own connection only.
            std::thread::spawn(move || carry(stream, &fences, &log));
        }
    });
    Ok(())
}

fn carry(stream: UnixStream, fences: &Fences, log: &Log) -> io::Result<()> {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        let (name, token) = line.trim().split_once(' ').unwrap_or_default();
        let token = token.parse().map_err(io::Error::other)?;
        let accepted = write(fences, log, name, token);
        let answer = if accepted { "accepted\n" } else { "refused\n" };
        lines.get_mut().write_all(answer.as_bytes())?;
        line.clear();
    }
    Ok(())
}

/// Writes to both registers of `name`; whether the one that checks tokens accepted.
fn write(fences: &Fences, log: &Log, name: &str, token: FencingToken) -> bool {
    let mut fences = fences.lock().unwrap_or_else(PoisonError::into_inner);
    let fence = fences.entry(name.to_owned()).or_default();
    let accepted = fence.admit(token).is_ok();
    for (register, accepted) in [(FENCED, accepted), (PLAIN, true)] {
        let written = What::Written {
            resource: format!("{register} {name}").into(),
            token,
            accepted,
        };
        log.note("registers", written);
    }
    accepted
}
