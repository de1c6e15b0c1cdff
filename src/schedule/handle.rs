//! [`SchedulerHandle`]: a scheduler at work.

use super::scheduler::Scheduler;
use super::status::ScheduleStatus;
use crate::error::Result;
use crate::model::MutexName;

/// A scheduler that was started. Dropped, it runs on until the coordinator is
/// closed.
#[derive(Clone, Debug)]
pub struct SchedulerHandle {
    scheduler: Scheduler,
}

impl SchedulerHandle {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self { scheduler }
    }

    /// What is scheduled.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        self.scheduler.name()
    }

    /// Whether it has not been stopped and has not ended.
    #[must_use]
    pub fn running(&self) -> bool {
        self.scheduler.running()
    }

    /// What it has done and will do.
    #[must_use]
    pub fn status(&self) -> ScheduleStatus {
        self.scheduler.status()
    }

    /// As [`Scheduler::stop`].
    ///
    /// # Errors
    /// As [`Scheduler::stop`].
    ///
    /// # Cancel safety
    /// Dropped, the stopping goes on in the background.
    pub async fn stop(&self) -> Result<()> {
        self.scheduler.stop().await
    }

    /// Returns when it has ended, for whatever reason.
    ///
    /// # Errors
    /// As [`Scheduler::run`].
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn ended(&self) -> Result<()> {
        self.scheduler.ended().await
    }
}
