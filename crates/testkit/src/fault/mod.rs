//! Faults through the public trait: any backend, made unreliable.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> tenure::Result<()> {
//! use tenure::backend::{Backend, Bid};
//! use tenure::clock::Clock;
//! use tenure::model::{ContenderId, LeaseTerms, MutexName};
//! use tenure::stores::memory::Memory;
//! use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};
//!
//! let faults = Faults::new(Clock::tokio());
//! let store = FaultBackend::new(Memory::new(), &faults);
//! let bid = Bid::new(MutexName::new("m")?, ContenderId::new("a")?, LeaseTerms::default());
//!
//! faults.next(Call::Acquire, Fault::LoseAnswer);
//! let error = store.acquire(&bid).await.unwrap_err();
//! assert!(error.may_have_happened());
//! // It did happen: asking again finds the grant.
//! assert!(store.acquire(&bid).await?.is_won());
//! assert_eq!(faults.calls(Call::Acquire), 2);
//! # Ok(())
//! # }
//! ```
//!
//! Faults are scripted ([`Faults::next`], [`Faults::always`]) or drawn from a
//! seed ([`Faults::seeded`]). The seed decides everything; no wall clock is
//! read.

mod backend;
mod faults;
mod hints;
mod rates;

pub use backend::FaultBackend;
pub use faults::{Call, Fault, Faults, HintFault, Record};
pub use rates::Rates;
