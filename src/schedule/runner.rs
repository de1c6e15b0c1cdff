//! The loop of a scheduler: stand, lead, run, stand again.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::job::Work;
use super::ledger_view::{about, check_plan};
use super::life::{Life, SchedulerParts};
use super::tick_loop::{TickLoop, TickLoopEnd};
use crate::clock::Moment;
use crate::engine::{Finish, Mode, Notice, Quiescer, Tenure};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::Purpose;

/// How much longer the engine waits for the local side than we do: so that a
/// run which outlasts a stop is dropped, and the office still given back.
const GRACE: Duration = Duration::from_secs(1);

/// Lives until it is stopped, the coordinator is closed, or the schedule turns
/// out to follow another settings.
pub(super) async fn live(life: Life, worker: &str, mut work: impl Work) -> Result<()> {
    let end = contend(&life, worker, &mut work).await;
    if let Err(error) = &end {
        tracing::error!(target: "tenure::schedule", worker, "the scheduler has ended: {error}");
    }
    life.end(end)
}

async fn contend(life: &Life, worker: &str, work: &mut impl Work) -> Result<()> {
    let scheduler = &*life.scheduler;
    // A conflict is better known at the start than at the first term.
    if let Ok(Some(entry)) = scheduler.ledger.read_once().await {
        check_plan(&scheduler.config, &entry).map_err(about(&scheduler.name))?;
        scheduler.tell_last_success(&entry);
    }
    if life.is_stopping() {
        return Ok(());
    }
    let (tell, mut notices) = mpsc::unbounded_channel();
    let id = scheduler.ids.generate()?;
    let mut settings = scheduler.engine.contention_settings(
        Purpose::Schedule,
        scheduler.name.clone(),
        id,
        Mode::Always,
    );
    settings.unique_id = scheduler.ids.unique_per_call();
    settings.quiesce += GRACE;
    let sink = Box::new(move |notice| drop(tell.send(notice)));
    life.contends(scheduler.engine.contend(settings, false, sink));
    let mut failure = None;
    loop {
        match notices.recv().await {
            // Won while this future was not polled, and given back since.
            Some(Notice::Began(tenure, _, quiescer)) if !quiescer.pick_up(&tenure) => {}
            Some(Notice::Began(tenure, _, quiescer)) => {
                let office = Office::enter(scheduler, tenure, quiescer);
                let error = office.hold(worker, work, &mut notices).await.err();
                if error.is_some() {
                    failure = error;
                    life.withdraw();
                }
                if let Some(finish) = office.leave(work, &mut notices).await {
                    return ending(scheduler, finish, failure);
                }
            }
            Some(Notice::Trouble(error)) => trouble(&error),
            Some(Notice::Finished(finish)) => return ending(scheduler, finish, failure),
            // Another leads, and reads the ledger.
            Some(Notice::Observed(_)) => scheduler.ledger.rests(),
            // Of a term that is over.
            Some(Notice::Quiesce(..)) => {}
            None => return ending(scheduler, Finish::NotOwner, failure),
        }
    }
}

/// An office that is held. Dropped, its local side has ended.
struct Office<'a> {
    scheduler: &'a SchedulerParts,
    tenure: Tenure,
    quiescer: Quiescer,
}

impl<'a> Office<'a> {
    fn enter(scheduler: &'a SchedulerParts, tenure: Tenure, quiescer: Quiescer) -> Self {
        scheduler.board.status().leading = Some(tenure.own_token());
        Self {
            scheduler,
            tenure,
            quiescer,
        }
    }

    /// Runs the schedule until the office is lost or must be left.
    async fn hold(
        &self,
        worker: &str,
        work: &mut impl Work,
        notices: &mut mpsc::UnboundedReceiver<Notice>,
    ) -> Result<()> {
        let clock = self.scheduler.engine.clock();
        let stopping = CancellationToken::new();
        let mut cut_at: Option<Moment> = None;
        let tick_loop = TickLoop {
            scheduler: self.scheduler,
            tenure: &self.tenure,
            worker,
            stopping: &stopping,
        };
        let serving = tick_loop.run(work);
        tokio::pin!(serving);
        loop {
            tokio::select! {
                biased;
                lost = self.tenure.lost() => {
                    tracing::debug!(target: "tenure::schedule", worker, "{lost}");
                    return Ok(());
                }
                notice = notices.recv() => match notice {
                    Some(Notice::Quiesce(..)) => {
                        stopping.cancel();
                        cut_at = Some(clock.now() + self.scheduler.engine.settings().quiesce);
                    }
                    Some(Notice::Trouble(error)) => trouble(&error),
                    Some(_) => {}
                    None => return Ok(()),
                },
                () = until(self.scheduler, cut_at) => {
                    tracing::warn!(target: "tenure::schedule", worker, "a run outlasted the stop and is dropped");
                    return Ok(());
                }
                end = &mut serving => {
                    if matches!(end?, TickLoopEnd::Deposed) {
                        self.quiescer.forfeit();
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Waits until nothing runs any more, then lets the office go. The
    /// contention's last word, if it came before that.
    async fn leave(
        self,
        work: &mut impl Work,
        notices: &mut mpsc::UnboundedReceiver<Notice>,
    ) -> Option<Finish> {
        let ended = work.ended();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                biased;
                () = &mut ended => return None,
                notice = notices.recv() => match notice {
                    Some(Notice::Finished(finish)) => return Some(finish),
                    Some(_) => {}
                    None => return Some(Finish::NotOwner),
                },
            }
        }
    }
}

impl Drop for Office<'_> {
    fn drop(&mut self) {
        {
            let mut status = self.scheduler.board.status();
            status.leading = None;
            status.next_run = None;
        }
        self.quiescer.quiesced();
    }
}

async fn until(scheduler: &SchedulerParts, at: Option<Moment>) {
    match at {
        Some(at) => scheduler.engine.clock().sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn trouble(error: &Error) {
    let source = std::error::Error::source(error).map(tracing::field::display);
    tracing::debug!(target: "tenure::schedule", source, "will try again: {error}");
}

/// What the end of the contention means to the caller who started it.
fn ending(scheduler: &SchedulerParts, finish: Finish, failure: Option<Error>) -> Result<()> {
    if let Some(error) = failure {
        return Err(error);
    }
    let unconfirmed = |message| {
        let error = Error::new(ErrorKind::Unconfirmed, Outcome::MayHave);
        Err(error.with_message(message).with_mutex(&scheduler.name))
    };
    match finish {
        Finish::StillRunning => {
            unconfirmed("the job still runs, so nothing was released: the lease runs out by itself")
        }
        Finish::Unconfirmed => {
            unconfirmed("the store did not confirm the release before the lease ran out")
        }
        Finish::Failed(error) => Err(error),
        Finish::NotOwner | Finish::Released | Finish::Lost(_) => Ok(()),
    }
}
