//! What the holder does while the lock is held.

use std::time::Duration;

use rustix::process::Pid;
use tenure::{ErrorKind, LeaseLost, LockGuard};
use tokio::sync::{mpsc, oneshot};

use super::desk::{Asker, Desk, Outcome};
use crate::exit::told;
use crate::guardian::{Pair, Report};
use crate::moment;
use crate::output::{Voice, brief, silence};
use crate::supervise::{cannot_be_told, still_running};
use crate::tree::{Script, Step, Sweep};

/// What `tenure hold` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrontMessage {
    /// The lock is the shell's now.
    Taken,
    /// The shell could not be told.
    Dropped,
    /// It has ended.
    Gone,
}

/// A lock, the script that it is for, and its guardians.
pub(super) struct Vigil<'a> {
    pub(super) guard: LockGuard,
    /// `None` when the script is only to be warned.
    pub(super) pair: Option<Pair>,
    pub(super) script: Script,
    pub(super) grace: Duration,
    pub(super) desk: Desk,
    pub(super) front: mpsc::UnboundedReceiver<FrontMessage>,
    pub(super) shell_ended: oneshot::Receiver<()>,
    pub(super) voice: &'a Voice,
}

/// Why a vigil ends.
enum Ending {
    /// The shell never learned of the lock.
    NotTaken,
    ShellEnded,
    Asked(Asker),
    Lost(LeaseLost),
}

impl Vigil<'_> {
    /// Keeps the lock until it is let go or lost, or the shell has ended.
    pub(super) async fn keep(mut self) {
        let mut was_stopped = false;
        let ending = self.watch(&mut was_stopped).await;
        match ending {
            Ending::NotTaken => {
                self.dismiss();
                let _ = self.guard.release().await;
            }
            Ending::ShellEnded => {
                // Who started it is gone: what it left behind is ended before
                // the lock is freed. A reader of its stderr need not wait
                // for the store.
                if self.pair.is_some() {
                    let grace = self.grace.min(self.guard.tenure().remaining());
                    let left = self.sweep(grace).await;
                    if let (Err(lost), true) = (self.guard.tenure().token(), left.is_empty()) {
                        let name = self.guard.tenure().mutex();
                        self.voice.error(&format_args!(
                            "{lost}: what the script that held {name} left behind was ended"
                        ));
                    }
                    self.tell_of(&left);
                }
                self.dismiss();
                silence();
                let _ = self.guard.release().await;
            }
            Ending::Asked(asker) => self.release(asker, was_stopped).await,
            Ending::Lost(lost) => self.lose(lost).await,
        }
    }

    async fn watch(&mut self, was_stopped: &mut bool) -> Ending {
        let tenure = self.guard.tenure();
        let (mut is_taken, mut has_front) = (false, true);
        let mut renewed = Box::pin(tenure.renewed());
        loop {
            let report = async {
                match &mut self.pair {
                    Some(pair) => pair.report().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = &mut self.shell_ended => return Ending::ShellEnded,
                report = report => match report {
                    Report::Stopping => {
                        *was_stopped = true;
                        self.voice.warn(&format_args!(
                            "ownership of {} was not renewed in time: the script is told to end, \
                             and has {}",
                            tenure.mutex(),
                            brief(tenure.remaining())
                        ));
                    }
                    Report::Replaced => self.voice.warn(
                        &"a guardian has died or fallen silent; another one has taken its place",
                    ),
                    Report::Refused(pid) => self.voice.warn(&cannot_be_told(pid)),
                    Report::Missing => self.voice.warn(
                        &"a guardian has died, and no other can be started for now",
                    ),
                    _ => *was_stopped = true,
                },
                moved = &mut renewed => match moved {
                    Ok(()) => {
                        renewed = Box::pin(tenure.renewed());
                        if let Some(pair) = &mut self.pair {
                            pair.until(moment::last_of(tenure));
                        }
                    }
                    Err(lost) => return Ending::Lost(lost),
                },
                said = self.front.recv(), if has_front => match said {
                    Some(FrontMessage::Taken) => is_taken = true,
                    Some(FrontMessage::Dropped) => return Ending::NotTaken,
                    Some(FrontMessage::Gone) | None if !is_taken => return Ending::NotTaken,
                    Some(FrontMessage::Gone) | None => has_front = false,
                },
                asker = self.desk.asked() => return Ending::Asked(asker),
            }
        }
    }

    fn dismiss(&mut self) {
        if let Some(pair) = self.pair.take() {
            pair.dismiss();
        }
    }

    /// The script says that it is done: it is not ended any more, whatever the
    /// store does.
    async fn release(mut self, asker: Asker, was_stopped: bool) {
        let working = self.working(asker.pid());
        self.dismiss();
        let mut outcome = Outcome {
            working,
            ..Outcome::default()
        };
        match self.guard.release().await {
            Err(error) if error.kind() == ErrorKind::Lost => outcome.lost = Some(told(&error)),
            Err(error) => outcome.doubt = Some(told(&error)),
            Ok(()) => {}
        }
        if was_stopped {
            let why = "ownership had not been renewed in time, and the script was told to end";
            outcome.lost.get_or_insert_with(|| why.to_owned());
        }
        // A second release must not find this holder.
        self.desk.close().await;
        asker.tell(&outcome).await;
    }

    /// Ends the script, or tells it and waits for its end.
    async fn lose(mut self, lost: LeaseLost) {
        let name = self.guard.tenure().mutex().clone();
        if self.pair.is_some() {
            // First what must be done, then what there is to say.
            let left = self.sweep(Duration::ZERO).await;
            self.dismiss();
            let said = format!("{lost}: the script that held {name} was ended");
            self.voice.error(&said);
            self.tell_of(&left);
            return;
        }
        self.voice.error(&format_args!(
            "{lost}: the script goes on without {name}, which may be another's"
        ));
        let outcome = Outcome {
            lost: Some(lost.to_string()),
            ..Outcome::default()
        };
        tokio::select! {
            _ = &mut self.shell_ended => {}
            asker = self.desk.asked() => {
                self.desk.close().await;
                asker.tell(&outcome).await;
            }
        }
    }

    /// Ends the script's tree, after `grace` or when ownership is lost.
    /// Returns those who cannot be ended.
    async fn sweep(&self, grace: Duration) -> Vec<Pid> {
        let tree = self.script.tree();
        let mut sweep = Sweep::new(moment::now(), moment::nanos(grace));
        loop {
            if self.guard.tenure().is_lost() {
                sweep.force(moment::now());
            }
            match sweep.step(&tree, moment::now()) {
                Step::Done => return Vec::new(),
                Step::Again(nanos) => tokio::time::sleep(Duration::from_nanos(nanos)).await,
                Step::Left(left) => return left,
            }
        }
    }

    fn tell_of(&self, left: &[Pid]) {
        if !left.is_empty() {
            let shell = Some(self.script.shell());
            self.voice.warn(&still_running(left, shell));
        }
    }

    /// Who was started under the lock and still works, except those around
    /// the one who asks.
    fn working(&self, asker: Option<Pid>) -> Vec<String> {
        let Some(asker) = asker.filter(|_| self.pair.is_some()) else {
            return Vec::new();
        };
        self.script.others_than(asker)
    }
}
