//! [`Birth`]: the process in which something was made.
//!
//! A fork copies memory, not threads: nothing that was copied is renewed,
//! released or answered, and sockets are shared with the parent. It must fail
//! instead of hanging or believing.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::{Clock, Moment};
use crate::error::{Error, Result};

/// The process in which something was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth(u32);

impl Birth {
    pub(crate) fn here() -> Self {
        Self(std::process::id())
    }

    /// The id of that process.
    pub(crate) fn process(self) -> u32 {
        self.0
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

/// A birth that is looked at often. The look is a system call, so it is not asked for
/// again within a small part of the time that a fork takes: what a fork has copied
/// is older than that when it first runs.
#[derive(Debug)]
pub(crate) struct Home {
    birth: Birth,
    /// When it was last seen to be here; nanoseconds of the clock.
    seen: AtomicU64,
}

impl Home {
    const BRIEFLY: u64 = 20_000;

    pub(crate) fn here() -> Self {
        Self {
            birth: Birth::here(),
            seen: AtomicU64::new(u64::MAX / 2), // never
        }
    }

    pub(crate) fn birth(&self) -> Birth {
        self.birth
    }

    /// An error in a fork.
    pub(crate) fn check(&self, clock: &Clock) -> Result<()> {
        if !clock.is_real() {
            return self.birth.check();
        }
        self.check_at(clock, clock.now())
    }

    /// The same by one who has just read `now` from `clock`.
    pub(crate) fn check_at(&self, clock: &Clock, now: Moment) -> Result<()> {
        let now = now.as_nanos();
        let is_recent = now.wrapping_sub(self.seen.load(Ordering::Relaxed)) < Self::BRIEFLY;
        if is_recent && clock.is_real() {
            return Ok(());
        }
        self.birth.check()?;
        self.seen.store(now, Ordering::Relaxed);
        Ok(())
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

    #[test]
    fn a_fork_is_seen_though_its_parent_looked_a_moment_ago() {
        let (home, clock) = (Home::here(), Clock::boot());
        home.check(&clock).unwrap();
        // No fork runs before so much time has passed.
        let seen = clock.now();
        while clock.now().since(seen).as_nanos() <= Home::BRIEFLY.into() {
            std::hint::spin_loop();
        }
        assert!(Birth::in_a_fork(|| home.check(&clock)).is_err());
        home.check(&clock).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_stands_still_hides_no_fork() {
        let (home, clock) = (Home::here(), Clock::tokio());
        home.check(&clock).unwrap();
        assert!(Birth::in_a_fork(|| home.check(&clock)).is_err());
        assert!(Birth::in_a_fork(|| home.check_at(&clock, clock.now())).is_err());
    }
}
