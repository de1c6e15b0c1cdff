//! Who listens to the wake file, in this process and in others.
//!
//! To write to the wake file takes longer than to free a mutex, and most are freed while
//! no process waits. So a process that listens shares a lock on a byte of the database
//! (`presence`), and who frees asks the kernel whether one does. Nothing is missed: a listener
//! shows itself first, then watches the wake file, then looks; who frees commits first, then
//! asks. Either it finds the listener, or the listener's look comes after the commit.
//!
//! The lock is on the database itself: it cannot be deleted apart from it, and ends with
//! the process whatever kills it. The clients of one process share a descriptor, and are counted.

use std::fs::File;

use super::presence::{self, Byte};
use super::wake_file::Listening;
use crate::sync::Mutex;

/// The clients of this process that listen to writes, and those that listen to grants too.
#[derive(Debug, Default)]
pub(super) struct Audience(Mutex<[usize; 2]>);

/// What one client listens to, and shows to others.
#[derive(Debug, Default)]
pub(super) struct Attention {
    wanted: Listening,
    shown: Listening,
}

impl Audience {
    /// Whether a client, of this process or another, listens to `what`.
    pub(super) fn listens(&self, file: &File, what: Listening) -> bool {
        let Some((index, byte)) = place(what) else {
            return false;
        };
        let here = self.0.lock();
        // Where it cannot be known, it may be.
        here[index] > 0 || presence::is_taken(file, byte).unwrap_or(true)
    }

    fn add(&self, file: &File, what: Listening) -> bool {
        let Some((index, byte)) = place(what) else {
            return true;
        };
        let mut here = self.0.lock();
        let is_shown = here[index] > 0 || presence::share(file, byte).unwrap_or(false);
        here[index] += usize::from(is_shown);
        is_shown
    }

    fn remove(&self, file: &File, what: Listening) {
        let Some((index, byte)) = place(what) else {
            return;
        };
        let mut here = self.0.lock();
        here[index] -= 1;
        if here[index] == 0 {
            // If it fails, others write to the wake file in vain.
            let _ = presence::leave(file, byte);
        }
    }
}

impl Attention {
    pub(super) fn wanted(&self) -> Listening {
        self.wanted
    }

    /// Whether others see what it listens to.
    pub(super) fn is_shown(&self) -> bool {
        self.shown == self.wanted
    }

    /// Shows that it listens to `wanted`, as far as a stranger's lock does not keep it from that.
    pub(super) fn show(&mut self, audience: &Audience, file: &File, wanted: Listening) {
        self.wanted = wanted;
        while self.shown > wanted {
            audience.remove(file, self.shown);
            self.shown = self.shown.less();
        }
        while self.shown < wanted && audience.add(file, self.shown.more()) {
            self.shown = self.shown.more();
        }
    }
}

fn place(what: Listening) -> Option<(usize, Byte)> {
    match what {
        Listening::Not => None,
        Listening::ToWrites => Some((0, Byte::HearsWrites)),
        Listening::ToGrants => Some((1, Byte::HearsGrants)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptors() -> (tempfile::TempDir, File, File) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let (here, there) = (open(), open());
        (folder, here, there)
    }

    #[test]
    fn who_listens_is_seen_by_others_and_in_the_same_process() {
        let (_folder, here, there) = descriptors();
        // Two processes, the first with two clients.
        let (audience, others) = (Audience::default(), Audience::default());
        let (mut one, mut two) = (Attention::default(), Attention::default());
        let heard = |what| (audience.listens(&here, what), others.listens(&there, what));
        assert_eq!(heard(Listening::ToWrites), (false, false));
        one.show(&audience, &here, Listening::ToWrites);
        two.show(&audience, &here, Listening::ToGrants);
        assert!(one.is_shown() && two.is_shown());
        assert_eq!(heard(Listening::ToWrites), (true, true));
        assert_eq!(heard(Listening::ToGrants), (true, true));
        two.show(&audience, &here, Listening::Not);
        assert_eq!(heard(Listening::ToWrites), (true, true));
        assert_eq!(heard(Listening::ToGrants), (false, false));
        one.show(&audience, &here, Listening::Not);
        assert_eq!(heard(Listening::ToWrites), (false, false));
    }

    #[test]
    fn while_a_stranger_keeps_one_from_showing_itself_all_is_told() {
        let (folder, here, there) = descriptors();
        let stranger = File::options().write(true).open(folder.path().join("file"));
        let stranger = stranger.unwrap();
        assert!(presence::take_alone(&stranger, Byte::HearsWrites).unwrap());
        let (audience, others) = (Audience::default(), Audience::default());
        let mut one = Attention::default();
        one.show(&audience, &here, Listening::ToWrites);
        assert!(!one.is_shown());
        assert!(others.listens(&there, Listening::ToWrites), "it may be");
        drop(stranger);
        assert!(!others.listens(&there, Listening::ToWrites));
        one.show(&audience, &here, one.wanted());
        assert!(one.is_shown());
        assert!(others.listens(&there, Listening::ToWrites));
    }
}
