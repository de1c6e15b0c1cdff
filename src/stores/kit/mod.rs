//! What the stores have in common, whatever they speak.
//!
//! | file | what it is |
//! | --- | --- |
//! | `hints` | the hints of one listener, from who knows to who wants to know |
//! | `listeners` | who listens to which name in this process |

mod hints;
mod listeners;

pub(super) use hints::HintStream;
#[cfg(any(feature = "redis", all(feature = "sqlite", target_os = "linux")))]
pub(super) use hints::{HintSender, hints};
pub(super) use listeners::Listeners;
