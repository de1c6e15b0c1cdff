//! Backends that keep the contract except in one point: for judges of stores, to be judged.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> tenure::Result<()> {
//! use tenure::backend::{Backend, Bid};
//! use tenure::model::{ContenderId, LeaseTerms, MutexName};
//! use tenure_testkit::broken::{Flaw, Flawed};
//! use tenure_testkit::contract::Subject;
//!
//! let store = Flawed::new(Flaw::SameToken).client().await?;
//! let bid = |id| Ok::<_, tenure::Error>(Bid::new(
//!     MutexName::new("m")?,
//!     ContenderId::new(id)?,
//!     LeaseTerms::default(),
//! ));
//! let (first, second) = (bid("a")?, bid("b")?);
//! let before = store.acquire(&first).await?.token();
//! store.leave(&first).await?;
//! assert_eq!(store.acquire(&second).await?.token(), before);
//! # Ok(())
//! # }
//! ```

mod backend;
mod flaw;

pub use backend::{Broken, Flawed};
pub use flaw::Flaw;
