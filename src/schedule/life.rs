//! [`SchedulerParts`]: what all clones of a scheduler share, and its life.

use std::sync::Arc;

use tokio::sync::watch;

use super::config::ScheduleConfig;
use super::ledger_client::LedgerClient;
use super::status::StatusBoard;
use crate::backend::{LedgerEntry, TickState};
use crate::engine::{Contention, Engine};
use crate::error::{Error, Result};
use crate::model::{ContenderIdGenerator, MutexName, Purpose};
use crate::sync::Mutex;
use crate::telemetry::NameMeters;

#[derive(Debug)]
pub(super) struct SchedulerParts {
    pub(super) engine: Engine,
    pub(super) ids: Arc<dyn ContenderIdGenerator>,
    pub(super) name: MutexName,
    pub(super) config: ScheduleConfig,
    pub(super) ledger: LedgerClient,
    pub(super) board: StatusBoard,
    life: Mutex<LifeState>,
    /// The last life that has ended, and how.
    ended: watch::Sender<(u64, Result<()>)>,
}

#[derive(Debug, Default)]
struct LifeState {
    /// Counts the starts.
    number: u64,
    is_running: bool,
    is_stopping: bool,
    contention: Option<Contention>,
}

impl SchedulerParts {
    pub(super) fn new(
        engine: Engine,
        ids: Arc<dyn ContenderIdGenerator>,
        name: MutexName,
        config: ScheduleConfig,
    ) -> Self {
        Self {
            ledger: LedgerClient::new(engine.clone(), name.clone()),
            engine,
            ids,
            name,
            config,
            board: StatusBoard::default(),
            life: Mutex::default(),
            ended: watch::Sender::new((0, Ok(()))),
        }
    }

    pub(super) fn meters(&self) -> NameMeters {
        self.engine.meters().of(Purpose::Schedule, &self.name)
    }

    /// Shows when a run last ended well, if the ledger says so: an alert that waits
    /// for the next run must not begin anew with every process.
    pub(super) fn tell_last_success(&self, entry: &LedgerEntry) {
        if let (TickState::Done, Some(at)) = (entry.state, entry.finished_at) {
            self.meters().ended_well(at.as_millis());
        }
    }

    /// Begins a life.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when one is going on,
    /// [`Closed`](crate::ErrorKind::Closed) after the coordinator has been closed.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Life> {
        self.engine.check_open()?;
        let mut life = self.life.lock();
        if life.is_running {
            return Err(self.wrong("the scheduler runs already; stop it first"));
        }
        life.number += 1;
        life.is_running = true;
        life.is_stopping = false;
        self.board.status().running = true;
        Ok(Life {
            scheduler: Arc::clone(self),
            end: Ok(()),
        })
    }

    /// Asks the present life to end, and waits for it.
    pub(super) async fn stop(&self) -> Result<()> {
        let mut ended = self.ended.subscribe();
        let number = {
            let mut life = self.life.lock();
            if !life.is_running {
                return Err(self.wrong("the scheduler does not run; start it first"));
            }
            life.is_stopping = true;
            // Its drop stops it.
            drop(life.contention.take());
            life.number
        };
        wait(&mut ended, number).await
    }

    /// Waits for the end of the present life, or tells of the last.
    pub(super) async fn ended(&self) -> Result<()> {
        let mut ended = self.ended.subscribe();
        let number = self.life.lock().number;
        wait(&mut ended, number).await
    }

    fn wrong(&self, message: &'static str) -> Error {
        Error::wrong_state(message).with_mutex(&self.name)
    }
}

async fn wait(ended: &mut watch::Receiver<(u64, Result<()>)>, number: u64) -> Result<()> {
    let end = ended.wait_for(|(ended, _)| *ended >= number).await;
    end.map_or_else(
        |_| unreachable!("the sender lives as long as its scheduler"),
        |end| end.1.clone(),
    )
}

/// One life of a scheduler, from its start to its stop. Dropped, it is over.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) scheduler: Arc<SchedulerParts>,
    end: Result<()>,
}

impl Life {
    /// Hands over what [`SchedulerParts::stop`] must stop.
    pub(super) fn contends(&self, contention: Contention) {
        let mut life = self.scheduler.life.lock();
        // Stopped before it contended: the drop here stops it.
        if !life.is_stopping {
            life.contention = Some(contention);
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.scheduler.life.lock().is_stopping
    }

    /// Ends the contention, not yet the life.
    pub(super) fn withdraw(&self) {
        drop(self.scheduler.life.lock().contention.take());
    }

    /// Ends it with this word.
    pub(super) fn end(mut self, end: Result<()>) -> Result<()> {
        self.end = end.clone();
        end
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.scheduler.ledger.rests();
        let mut life = self.scheduler.life.lock();
        drop(life.contention.take());
        life.is_running = false;
        {
            let mut status = self.scheduler.board.status();
            status.running = false;
            status.leading = None;
            status.next_run = None;
        }
        let end = std::mem::replace(&mut self.end, Ok(()));
        let _before = self.scheduler.ended.send_replace((life.number, end));
    }
}
