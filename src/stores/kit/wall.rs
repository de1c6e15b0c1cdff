//! This host's wall clock.

use std::time::{Duration, SystemTime};

/// This host's wall clock, since 1970. It decides nothing: it is where the
/// times of a store begin that has none of its own.
pub(in crate::stores) fn wall() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
