//! For your tests, whether you use Tenure or extend it.
//!
//! | you want to test | take |
//! | --- | --- |
//! | code that uses locks, leaders or schedules: what it does when it wins, waits, loses, is cut off | [`Fleet`], on virtual time; [docs/testing-your-code.md](https://github.com/tenure-rs/tenure/blob/main/docs/testing-your-code.md) |
//! | the same when single calls fail, hang or are answered late | [`fault`] |
//! | that never two owned, from what many processes wrote down | [`history`], [`judge`] |
//! | against a real Redis, MariaDB, PostgreSQL or ZooKeeper, started for the test and broken on purpose | [`servers`] |
//! | with a contender that is a process of its own, and can be killed or stopped | [`peer`] |
//! | a store of your own | [`contract`]: every sentence that a store must keep, as a test; [`every_store`]: what it must stand beyond that |
//! | a judge of stores, or a contract of your own | [`broken`]: a store for each way of being wrong |

mod at_the_end;
pub mod broken;
pub mod contract;
pub mod every_store;
pub mod fault;
mod fleet;
pub mod history;
pub mod judge;
pub mod peer;
pub mod servers;
mod whole;

pub use at_the_end::AtTheEnd;
pub use fleet::{Fleet, Process};
pub use whole::Whole;

/// The page for people who test their own code, whose examples run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing-your-code.md")]
mod testing_your_code {}
