//! The values everything else speaks in: names, ids, tokens, terms, owners.
//!
//! Nothing here waits, talks to a store or reads a clock. A value that exists
//! is valid: every constructor that can be given nonsense returns an error
//! that says what would be right.

pub(crate) mod chance;
mod contender;
mod host;
mod lease;
mod name;
mod owner;
mod period;
mod present;
mod purpose;
mod state;
pub(crate) mod text;
mod time;
mod token;

pub use contender::{ContenderId, ContenderIdGenerator, Uuid};
pub use host::Host;
pub use lease::LeaseTerms;
pub use name::MutexName;
pub use owner::MutexOwner;
pub use period::{ContendPeriod, Jitter};
pub use present::Owner;
pub use purpose::Purpose;
pub use state::MutexState;
pub use time::StoreTime;
pub use token::FencingToken;
