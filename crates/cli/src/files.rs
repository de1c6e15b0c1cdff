//! What is done with few file descriptors: an error, and no panic.

use std::fs::File;
use std::io;

use tokio::runtime::{Builder, Runtime};

use crate::exit::Failure;

/// What the runtime opens for itself, and a few for whatever it runs.
const NEEDED: usize = 12;

/// A runtime. It would panic without the files that it needs, so it is first
/// seen that there are so many to be had.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    spare(NEEDED)
        .and_then(|()| Builder::new_current_thread().enable_all().build())
        .map_err(|error| {
            let failure = Failure::system("start the runtime", &error);
            let hint = "ulimit -n says how many files this program may have open";
            Failure::new(failure.code, format!("{}; {hint}", failure.message))
        })
}

/// Whether `count` files can be opened at once.
fn spare(count: usize) -> io::Result<()> {
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        open.push(File::open("/dev/null")?);
    }
    Ok(())
}
