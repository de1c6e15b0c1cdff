//! The [contract of a backend](tenure::backend) as a test suite.
//!
//! Describe the store once as a [`Subject`], then let
//! [`contract_tests!`](crate::contract_tests) make one test of every sentence:
//!
//! ```
//! use tenure::backend::Backend;
//! use tenure::clock::Clock;
//! use tenure::stores::memory::Memory;
//! use tenure_testkit::contract::Subject;
//!
//! struct InMemory(Memory, Clock);
//!
//! impl Subject for InMemory {
//!     type Backend = Memory;
//!     async fn client(&self) -> tenure::Result<Memory> {
//!         Ok(self.0.another_client())
//!     }
//!     fn clock(&self) -> Clock {
//!         self.1.clone()
//!     }
//! }
//!
//! # fn subject() -> InMemory { let clock = Clock::tokio(); InMemory(Memory::with_clock(clock.clone()), clock) }
//! // In a file under `tests/`; `start_paused` because this store runs on
//! // tokio's clock. A store on real time writes `#[tokio::test]`.
//! tenure_testkit::contract_tests! { #[tokio::test(start_paused = true)] subject() }
//! ```
//!
//! The suite goes by the [`Profile`](tenure::backend::Profile) and never skips
//! in silence. Where a store behaves in another way, the sentence tests the
//! opposite that the contract documents, or one line on standard error names it
//! as *not applicable by profile*. Where a store lacks a [`Part`], which its
//! subject must declare, the line says that it *has none*.
//!
//! Sentences about time hold on real stores under load, because they judge only
//! what can be judged: an answer that came back before the grant's local
//! deadline must be a refusal; one that came later proves nothing and is tried
//! again.

pub mod abandonment;
pub mod cancellation;
pub mod close;
pub mod exclusion;
pub mod expiry;
pub mod fencing;
pub mod health;
pub mod hints;
pub mod leave;
pub mod ledger;
pub mod ledgers;
pub mod list;
pub mod names;
pub mod order;
pub mod owner;
pub mod prune;
pub mod release;
pub mod renewal;
pub mod revoke;
pub mod starvation;
pub mod transition;

mod case;
mod sentences;
mod subject;
mod waiter;

pub(crate) use case::{Case, Win};
pub use sentences::SENTENCES;
pub use subject::{Part, Subject};
pub(crate) use waiter::Waiter;
