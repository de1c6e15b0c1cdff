#![doc = include_str!("../README.md")]

pub mod backend;
pub mod blocking;
pub mod clock;
pub mod combination;
mod coordinator;
mod engine;
mod error;
pub mod leader;
pub mod lock;
pub mod model;
pub mod queue;
pub mod schedule;
pub mod service;
pub mod stores;
mod sync;
mod telemetry;

#[cfg(doctest)]
#[doc = include_str!("../docs/own-connections.md")]
struct OwnConnections;

pub use combination::{CombinationBuilder, CombinationGuard, CombinationLock};
pub use coordinator::{Coordinator, CoordinatorBuilder, LazyCoordinator, Revocation};
pub use engine::{
    ContenderStatus, CoordinatorStatus, Doing, LocalWaiters, Standing, StatusChange, StatusChanges,
    Tenure, Trouble, TroubleNews, Troubles,
};
pub use error::{Error, ErrorKind, LeaseLost, LossCause, Outcome, Result, Retry};
pub use leader::{Campaign, CampaignEvent, Elector, Leadership, Observer};
pub use lock::{Holder, Lock, LockGuard, LockOptions, ReentrantGuard, ReentrantLock};
pub use schedule::{ScheduleConfig, Scheduler, SchedulerHandle, Tick};
