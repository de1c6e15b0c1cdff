//! Combination locks.

mod attempt;
mod backend;
mod combined;
mod grant;
mod node;
mod renewal;
mod rules;
mod unlock;

#[doc(hidden)]
pub use combined::Combined;
pub(crate) use node::Node;
pub use rules::Mode;
pub(crate) use rules::{Rules, Wishes};
