//! The only contention loop: it bids, renews, loses and releases for locks,
//! leaders, schedules and services alike, and never sees which store is below.
//!
//! | file | what it is |
//! | --- | --- |
//! | `engine` | what all contentions of a coordinator share |
//! | `machine/` | the contention of one contender, a pure state machine |
//! | `driver` | carries out what a machine wants |
//! | `call` | the call to the store that a driver has begun |
//! | `slot` | where a contention sits between two events, and who polls it |
//! | `contention` | a running contention, as its user begins it and has it in hand |
//! | `holding` | its tenure, as the driver sees to it |
//! | `roster` | all contentions of a coordinator, and one task that rings for them |
//! | `renewals` | what is to be renewed and when, in batches |
//! | `birth` | the process in which something was made |
//! | `jump` | whether the clocks of this machine jumped |
//! | `in_hand` | whether the user of a contention has its grant in hand |
//! | `lease` | how long a grant lasts, by the local clock |
//! | `said_once` | a word about a lease that is said once |
//! | `life` | how far a contention has come, told to all who look on |
//! | `tenure` | a period of ownership, as its holder sees it |
//! | `observe` | looking without contending |
//! | `notify` | callbacks, in order and off the async workers |
//! | `store_clock` | the store's clock, as its answers tell it |
//! | `trouble` | what fails and is tried again, for those who read of it |
//! | `wake` | when to look or try again |
//! | `event` | what goes into a machine, what comes out, what its user hears |
//! | `feed` | what this process holds and waits for, as it changes |
//! | `settings` | how contentions behave: all of a coordinator, and one |
//! | `random` | all the chance there is, seedable |

mod birth;
mod call;
mod contention;
mod driver;
#[expect(clippy::module_inception)] // The home of `Engine` itself.
mod engine;
mod event;
mod feed;
mod holding;
mod in_hand;
mod jump;
mod lease;
mod life;
mod machine;
mod notify;
mod observe;
mod random;
mod renewals;
mod roster;
mod said_once;
mod settings;
mod slot;
mod store_clock;
mod tenure;
mod trouble;
mod wake;

#[cfg(test)]
mod tests;

pub(crate) use birth::Birth;
pub(crate) use contention::{Contention, Quiescer};
pub(crate) use engine::Engine;
pub(crate) use event::{Finish, GivenBack, Listener, Notice};
pub use feed::{
    ContenderStatus, CoordinatorStatus, LocalWaiters, Standing, StatusChange, StatusChanges,
};
pub(crate) use notify::Dispatch;
pub(crate) use observe::Observation;
pub(crate) use random::Random;
pub(crate) use settings::{Mode, Settings};
pub use tenure::Tenure;
pub(crate) use trouble::TroubleReporter;
pub use trouble::{Doing, Trouble, TroubleNews, Troubles};
pub(crate) use wake::backoff;
