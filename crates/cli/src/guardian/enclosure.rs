//! The command's cgroup in the making, aside: for whatever is done to a cgroup
//! the kernel may let one wait for all others on the host that do the same, and
//! this program has a lease to renew.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, getpid};
use tokio::sync::oneshot;

use crate::tree::{self, Cgroup};

/// How long the command may wait for it behind its gate.
const LONGEST: Duration = Duration::from_secs(1);
/// How long, and how often, the end waits for it.
const PAUSE: Duration = Duration::from_millis(2);
const PAUSES: u32 = 25;

/// The thread that makes the group, and puts the command into it.
#[derive(Debug)]
pub(super) struct Enclosure {
    /// Who is the command, and who its parent.
    tell: Option<mpsc::Sender<(Pid, Pid)>>,
    answer: oneshot::Receiver<Result<Arc<Cgroup>, String>>,
    /// Brings the group with it, if the command was put in, however late.
    thread: JoinHandle<Option<Arc<Cgroup>>>,
}

impl Enclosure {
    /// Begins to make it.
    pub(super) fn begin() -> io::Result<Self> {
        let (tell, told) = mpsc::channel();
        let (give, answer) = oneshot::channel();
        let work = move || make(&told, give);
        Ok(Self {
            tell: Some(tell),
            answer,
            thread: thread::Builder::new().spawn(work)?,
        })
    }

    /// Puts `command` into it, which waits behind its gate.
    ///
    /// # Errors
    /// Says why the command has to do without.
    pub(super) async fn take_in(
        &mut self,
        command: Pid,
        parent: Pid,
    ) -> Result<Arc<Cgroup>, String> {
        if let Some(tell) = self.tell.take() {
            let _ = tell.send((command, parent));
        }
        let late = || Err("it was not made within a second".to_owned());
        let gone = || Err("it could not be made".to_owned());
        match tokio::time::timeout(LONGEST, &mut self.answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| gone()),
            Err(_) => {
                self.answer.close();
                // It may have come in this moment.
                self.answer.try_recv().unwrap_or_else(|_| late())
            }
        }
    }

    /// The command has ended. False when the thread is still at work: then the
    /// command's number must not become another's before
    /// [`wait`](Self::wait) returns, for that one would be put in.
    pub(super) fn finish(&mut self) -> bool {
        self.tell = None;
        for _ in 0..PAUSES {
            if self.thread.is_finished() {
                break;
            }
            thread::sleep(PAUSE);
        }
        self.thread.is_finished()
    }

    /// Waits for the thread, and removes the group.
    pub(super) fn wait(self) {
        drop(self.tell);
        if let Ok(Some(cgroup)) = self.thread.join() {
            cgroup.remove();
        }
    }
}

fn make(
    told: &mpsc::Receiver<(Pid, Pid)>,
    give: oneshot::Sender<Result<Arc<Cgroup>, String>>,
) -> Option<Arc<Cgroup>> {
    let cgroup = match Cgroup::make() {
        Ok(cgroup) => Arc::new(cgroup),
        Err(why) => {
            let _ = give.send(Err(why));
            return None;
        }
    };
    let taken = match told.recv() {
        Ok((command, parent)) if !give.is_closed() => take_in(&cgroup, command, parent),
        // There is no command, or it has begun.
        _ => Err("nobody waits for it".to_owned()),
    };
    if let Err(why) = taken {
        cgroup.remove();
        let _ = give.send(Err(why));
        return None;
    }
    let _ = give.send(Ok(Arc::clone(&cgroup)));
    Some(cgroup)
}

fn take_in(cgroup: &Cgroup, command: Pid, guardian: Pid) -> Result<(), String> {
    // It is not reaped before this has returned, so who has the number and the
    // right parent is it, and stays it.
    match tree::ancestors(command).first() {
        Some(parent) if [guardian, getpid()].contains(parent) => cgroup.take_in(command),
        _ => Err("the command has gone".to_owned()),
    }
}
