//! The connections of this process to nodes of combination locks. Locks that
//! name the same node share them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, MutexGuard, Weak};

use tokio::runtime::{Handle, Id};

use super::connection::{ConnectionUse, Pulse, SharedConnection};
use crate::backend::url::StoreUrl;
use crate::clock::Clock;
use crate::error::Result;
use crate::stores;
use crate::sync::Mutex;

/// What the process knows, by the URL as it was given.
#[derive(Default)]
struct Known {
    /// A connection lives on a runtime, and ends with it.
    shared: HashMap<(String, Id), Weak<SharedConnection>>,
    /// Whether a server answers is the same for every runtime.
    pulses: HashMap<String, Weak<Pulse>>,
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    KNOWN.lock()
}

/// The use of the server that `url` names, called `text` by the user. It may
/// not be there yet.
pub(crate) fn join(text: &str, url: &StoreUrl, clock: Clock) -> Result<ConnectionUse> {
    let key = (text.to_owned(), Handle::current().id());
    let found = find_in(&known(), &key);
    if let Some(connection) = found {
        return Ok(connection);
    }
    let store = stores::begin_holds(&url.into(), clock)?;
    let (shared, connection) = SharedConnection::new(store, pulse(text));
    let mut known = known();
    // Another may have opened it meanwhile: then ours is not needed.
    if let Some(connection) = find_in(&known, &key) {
        return Ok(connection);
    }
    known.shared.retain(|_, shared| shared.strong_count() > 0);
    known.shared.insert(key, Arc::downgrade(&shared));
    Ok(connection)
}

fn find_in(known: &Known, key: &(String, Id)) -> Option<ConnectionUse> {
    known.shared.get(key).and_then(Weak::upgrade)?.join()
}

fn pulse(text: &str) -> Arc<Pulse> {
    let mut known = known();
    if let Some(pulse) = known.pulses.get(text).and_then(Weak::upgrade) {
        return pulse;
    }
    known.pulses.retain(|_, pulse| pulse.strong_count() > 0);
    let pulse = Arc::<Pulse>::default();
    let weak = Arc::downgrade(&pulse);
    known.pulses.insert(text.to_owned(), weak);
    pulse
}
