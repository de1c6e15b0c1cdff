//! [`Birth`]: the process in which something was made.
//!
//! A fork copies memory, not threads: nothing that was copied is renewed,
//! released or answered, and sockets are shared with the parent. It must fail
//! instead of hanging or believing.

use crate::error::{Error, Result};

/// The process in which something was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth(u32);

impl Birth {
    pub(crate) fn here() -> Self {
        Self(std::process::id())
    }

    /// Whether this is that process, and not a fork of it.
    pub(crate) fn is_here(self) -> bool {
        #[cfg(test)]
        if FORKED.get() {
            return false;
        }
        self.0 == std::process::id()
    }

    /// What `work` does in a fork: on this thread, the one that a fork has.
    #[cfg(test)]
    pub(crate) fn in_a_fork<T>(work: impl FnOnce() -> T) -> T {
        FORKED.set(true);
        let done = work();
        FORKED.set(false);
        done
    }

    /// An error in a fork.
    pub(crate) fn check(self) -> Result<()> {
        if self.is_here() {
            return Ok(());
        }
        Err(Error::wrong_state(format!(
            "this process is a fork of process {}, which connected: connections and threads \
                 are not inherited; connect again here",
            self.0
        )))
    }

    /// As if made in the process that forked this one.
    #[cfg(test)]
    pub(crate) fn elsewhere() -> Self {
        Self(std::process::id() ^ 1)
    }
}

#[cfg(test)]
thread_local! {
    static FORKED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_fork_is_told_to_connect_itself() {
        assert!(Birth::here().check().is_ok());
        let error = Birth::elsewhere().check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongState);
        assert!(error.to_string().contains("connect again"), "{error}");
    }
}
