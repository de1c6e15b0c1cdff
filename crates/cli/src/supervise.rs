//! Running a command under a tenure: begun after its guardian is ready, told
//! every signal, ended before ownership is.

use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tenure::{LeaseLost, Tenure};

use crate::child::{Child, Fate};
use crate::exit::Failure;
use crate::guardian::{Post, Report};
use crate::moment;
use crate::output::{Voice, brief};
use crate::signals::Signals;
use crate::terminal::Terminal;

/// What is run, and how it is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) command: &'a [std::ffi::OsString],
    /// Further variables for the command.
    pub(crate) environment: &'a [(&'static str, String)],
    pub(crate) grace: Duration,
    /// How long it may run.
    pub(crate) limit: Option<Duration>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    /// Why ownership ended before the command did.
    pub(crate) lost: Option<LeaseLost>,
    /// Whether it was told to end because ownership was about to.
    pub(crate) was_stopped: bool,
    /// Whether it was ended because it ran too long.
    pub(crate) was_too_long: bool,
    /// The last signal that asked this program to end.
    pub(crate) asked: Option<Signal>,
}

impl End {
    /// Whether it ended for want of ownership.
    pub(crate) fn is_loss(&self) -> bool {
        self.lost.is_some() || self.was_stopped
    }
}

/// Runs the command to its end, and the end of its process group.
pub(crate) async fn supervise(
    task: Task<'_>,
    tenure: &Tenure,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<End, Failure> {
    let failed = |what: &'static str| move |error| Failure::system(what, &error);
    let Ok(token) = tenure.token() else {
        return Err(tenure::Error::from(tenure.lost().await).into());
    };
    let mut post = Post::start(task.grace).map_err(failed("start the guardian"))?;
    let ours = [
        ("TENURE_NAME", tenure.mutex().to_string()),
        ("TENURE_TOKEN", token.to_string()),
        ("TENURE_CONTENDER", tenure.contender().to_string()),
    ];
    let environment = ours.into_iter().chain(task.environment.iter().cloned());
    let mut child =
        Child::prepare(task.command, environment).map_err(failed("start the command"))?;
    // From here to the word "ready" a kill of this program ends the gate.
    post.guard(child.group(), moment::end_of(tenure));
    match tenure.protect(post.report()).await {
        Ok(Report::Ready) => {}
        Ok(_) => return Err(Failure::new(crate::exit::SYSTEM, "the guardian has died")),
        Err(lost) => return Err(tenure::Error::from(lost).into()),
    }
    let terminal = Terminal::lend(child.group());
    child.go().map_err(failed("start the command"))?;
    voice.detail(&format_args!(
        "running with token {token} as process group {}",
        child.group().as_raw_pid()
    ));
    let guarded = Guarded {
        task,
        tenure,
        voice,
        child,
        post,
        terminal,
    };
    guarded.run(signals).await
}

struct Guarded<'a> {
    task: Task<'a>,
    tenure: &'a Tenure,
    voice: &'a Voice,
    child: Child,
    post: Post,
    terminal: Option<Terminal>,
}

impl Guarded<'_> {
    async fn run(mut self, signals: &mut Signals) -> Result<End, Failure> {
        let (mut lost, mut was_stopped, mut asked) = (None, false, None);
        let (mut limit, mut was_too_long) = (pin!(sleep(self.task.limit)), false);
        let mut renewed = Box::pin(self.tenure.renewed());
        self.post.until(moment::end_of(self.tenure));
        loop {
            tokio::select! {
                biased;
                fate = self.child.fate() => match fate {
                    Fate::Ended => break,
                    Fate::Stopped => self.pause(),
                },
                moved = &mut renewed, if lost.is_none() => match moved {
                    Ok(()) => {
                        renewed = Box::pin(self.tenure.renewed());
                        self.post.until(moment::end_of(self.tenure));
                    }
                    Err(loss) => {
                        // The guardian does the same; one of the two may be
                        // stopped.
                        self.child.signal(Signal::KILL);
                        lost = Some(loss);
                    }
                },
                report = self.post.report() => match report {
                    Report::Stopping => {
                        was_stopped = true;
                        self.voice.warn(&format_args!(
                            "ownership was not renewed in time: the command is told to end, and has {}",
                            brief(self.tenure.remaining())
                        ));
                    }
                    Report::Killed => was_stopped = true,
                    Report::Gone => self.replace_guardian().await?,
                    Report::Ready => {}
                },
                () = &mut limit => {
                    // Asked first, and made to when the grace is over.
                    let signal = if was_too_long { Signal::KILL } else { Signal::TERM };
                    self.child.signal(signal);
                    limit.set(sleep((!was_too_long).then_some(self.task.grace)));
                    was_too_long = true;
                }
                signal = signals.next() => {
                    self.child.signal(signal);
                    if !matches!(signal, Signal::USR1 | Signal::USR2) {
                        asked = Some(signal);
                    }
                }
            }
        }
        drop(self.terminal.take());
        let status = self
            .child
            .reap()
            .map_err(|error| Failure::system("wait for the command", &error))?;
        let grace = self.task.grace.min(self.tenure.remaining());
        self.child.sweep(grace).await;
        was_stopped |= self.post.dismiss();
        Ok(End {
            status,
            lost: lost.or_else(|| self.tenure.token().err()),
            was_stopped,
            was_too_long,
            asked,
        })
    }

    /// Ctrl-Z: this program's job stops as well, so that the shell takes over.
    /// The lease goes on running out; the guardian sees to that.
    fn pause(&mut self) {
        let Some(terminal) = self.terminal.take() else {
            return;
        };
        terminal.take_back();
        self.voice.warn(&format_args!(
            "suspended: ownership ends in {} unless it goes on",
            brief(self.tenure.remaining())
        ));
        // Without a shell that could wake it the kernel drops this signal.
        let _ = rustix::process::kill_current_process_group(Signal::TSTP);
        self.terminal = Terminal::lend(self.child.group());
        self.child.signal(Signal::CONT);
    }

    async fn replace_guardian(&mut self) -> Result<(), Failure> {
        // If it dies again and again, this keeps the loop from spinning.
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.post = Post::start(self.task.grace)
            .map_err(|error| Failure::system("start the guardian", &error))?;
        self.post
            .guard(self.child.group(), moment::end_of(self.tenure));
        self.voice
            .warn(&"the guardian has died; another one has taken its place");
        Ok(())
    }
}

/// Returns after `length`, or never.
async fn sleep(length: Option<Duration>) {
    match length {
        Some(length) => tokio::time::sleep(length).await,
        None => std::future::pending().await,
    }
}
