#![doc = include_str!("../docs/schedule.md")]

mod cadence;
mod config;
#[cfg(feature = "cron")]
mod cron;
mod handle;
mod job;
mod ledger_client;
mod ledger_view;
mod life;
#[cfg(feature = "cron")]
mod offset_period;
mod report;
mod runner;
mod scheduler;
mod status;
mod thread;
mod tick;
mod tick_loop;
mod upcoming;

#[cfg(test)]
mod tests;

pub use config::{Misfire, ScheduleConfig, Strategy};
pub use handle::SchedulerHandle;
pub use job::{JobError, JobResult, Unfinished};
pub use report::{RunResult, ScheduleReport, Schedules};
pub use scheduler::Scheduler;
pub use status::{LastRun, NextRun, RunOutcome, ScheduleStatus};
pub(crate) use thread::ThreadWork;
pub use tick::Tick;
pub use upcoming::{ClockChange, Upcoming, UpcomingRun};
