#![doc = include_str!("../docs/blocking.md")]

mod background;
mod cancel;
mod combination;
mod coordinator;
mod elector;
mod lock;
mod once;
mod reentrant;
mod scheduler;
mod service;
mod tenure;
mod troubles;
mod wrap;

pub use cancel::Cancel;
pub use combination::{CombinationGuard, CombinationLock};
pub use coordinator::Coordinator;
pub use elector::{Campaign, CampaignEvent, Elector, Leadership, Observer};
pub use lock::{Lock, LockGuard};
pub use once::{GuardedTurn, OpenTurn};
pub use reentrant::{ReentrantGuard, ReentrantLock};
pub use scheduler::{Scheduler, SchedulerHandle, Tick};
pub use service::{ContendService, RetrievalService};
pub use tenure::Tenure;
pub use troubles::Troubles;
