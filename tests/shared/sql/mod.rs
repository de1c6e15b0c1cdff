//! What both SQL stores must stand. Each says what its `Server` is.

mod faults;
mod identity;
mod locked;
pub(crate) mod odd;
mod outage;
mod process;
mod settings;
mod silence;
pub(crate) mod support;
mod tls;
