//! [`Remembered`]: what this process has seen itself, should the store forget.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure::model::FencingToken;

/// For so many resources; what more there are rest on the store alone.
const ROOM: usize = 10_000;

/// The highest tokens that one process was told of, beside a store that may forget them: a cache
/// that evicts, a table that is emptied. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Remembered(Arc<Mutex<HashMap<String, FencingToken>>>);

impl Remembered {
    /// `token`, or a higher one of the resource's: what the store shall hold at least.
    pub(super) fn at_least(&self, resource: &str, token: FencingToken) -> FencingToken {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(resource).copied().unwrap_or(token).max(token)
    }

    /// Keeps what the store has told, if it is higher.
    pub(super) fn saw(&self, resource: &str, newest: FencingToken) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(highest) = seen.get_mut(resource) {
            *highest = newest.max(*highest);
        } else if seen.len() < ROOM {
            seen.insert(resource.to_owned(), newest);
        }
    }
}
