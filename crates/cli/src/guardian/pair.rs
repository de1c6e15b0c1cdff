//! The holder's side: both guardians of a script.

use std::io;
use std::time::Duration;

use super::handle::GuardianHandle;
use super::orders::Word;
use super::{Report, Role};
use crate::tree::Script;

/// If one dies again and again, this keeps the caller from spinning.
const PAUSE: Duration = Duration::from_millis(100);

/// Two guardians of a script. Dropped without [`dismiss`](Self::dismiss), the
/// lines close, and they end the script.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The first asks the script to end before the deadline; the second is for
    /// the case that the holder and the first are killed at once.
    handles: [GuardianHandle; 2],
    grace: Duration,
    script: String,
    until: u64,
}

impl Pair {
    /// Starts the guardians. They are at their posts when both are
    /// [ready](Self::ready).
    pub(crate) fn start(script: &Script, grace: Duration, until: u64) -> io::Result<Self> {
        let start = |grace| GuardianHandle::start(Role::Script, grace, &[], &[]);
        let mut pair = Self {
            handles: [start(grace)?, start(Duration::ZERO)?],
            grace,
            script: script.words(),
            until,
        };
        pair.instruct(0);
        pair.instruct(1);
        Ok(pair)
    }

    /// Waits until both guard the script; false when one has died.
    pub(crate) async fn ready(&mut self) -> bool {
        for handle in &mut self.handles {
            if !matches!(handle.word().await, Word::Ready(_)) {
                return false;
            }
        }
        true
    }

    fn instruct(&mut self, index: usize) {
        let handle = &mut self.handles[index];
        handle.tell(&format!("script {}", self.script));
        handle.tell(&format!("until {}", self.until));
    }

    /// Moves the deadline.
    pub(crate) fn until(&mut self, until: u64) {
        self.until = until;
        for handle in &mut self.handles {
            handle.tell(&format!("until {until}"));
        }
    }

    /// What happens next.
    pub(crate) async fn report(&mut self) -> Report {
        loop {
            let [first, second] = &mut self.handles;
            let (index, word) = tokio::select! {
                biased;
                word = first.word() => (0, word),
                word = second.word() => (1, word),
            };
            match word {
                Word::Stopping => return Report::Stopping,
                Word::Killed => return Report::Killed,
                Word::Refused(pid) => return Report::Refused(pid),
                Word::Gone => return self.replace(index).await,
                _ => {}
            }
        }
    }

    async fn replace(&mut self, index: usize) -> Report {
        self.handles[index].dismiss();
        tokio::time::sleep(PAUSE).await;
        let grace = if index == 0 {
            self.grace
        } else {
            Duration::ZERO
        };
        // Tried again, because the one that is gone is found gone again.
        let Ok(handle) = GuardianHandle::start(Role::Script, grace, &[], &[]) else {
            return Report::Missing;
        };
        self.handles[index] = handle;
        self.instruct(index);
        Report::Replaced
    }

    /// Lets both go: there is nothing to guard any more.
    pub(crate) fn dismiss(mut self) {
        for handle in &mut self.handles {
            handle.dismiss();
        }
    }
}
