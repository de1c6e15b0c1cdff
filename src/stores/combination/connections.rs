//! The connections of this process to nodes of combination locks. Locks that
//! name the same node by the same URL share them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, MutexGuard, Weak};

use tokio::runtime::{Handle, Id};

use super::connection::{ConnectionUse, Pulse, SharedConnection};
use crate::backend::url::StoreUrl;
use crate::clock::Clock;
use crate::error::Result;
use crate::stores::{self, StoreOptions};
use crate::sync::Mutex;

/// What the process knows, by URL.
#[derive(Default)]
struct Known {
    /// A connection lives on a runtime, and ends with it.
    shared: HashMap<(StoreUrl, Id), Weak<SharedConnection>>,
    /// Whether a server answers is the same for every runtime.
    pulses: HashMap<StoreUrl, Weak<Pulse>>,
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    KNOWN.lock()
}

/// The use of the server that `options` name. It may not be there yet.
pub(crate) fn join(options: &StoreOptions, clock: Clock) -> Result<ConnectionUse> {
    let Some(url) = options.plain_url() else {
        // Whether two passwords that are asked for are the same, only the application knows.
        let store = stores::begin_holds(options, clock)?;
        return Ok(SharedConnection::new(store, Arc::default()).1);
    };
    let key = (url.clone(), Handle::current().id());
    let found = find_in(&known(), &key);
    if let Some(connection) = found {
        return Ok(connection);
    }
    let store = stores::begin_holds(options, clock)?;
    let (shared, connection) = SharedConnection::new(store, pulse(url));
    let mut known = known();
    // Another may have opened it meanwhile: then ours is not needed.
    if let Some(connection) = find_in(&known, &key) {
        return Ok(connection);
    }
    known.shared.retain(|_, shared| shared.strong_count() > 0);
    known.shared.insert(key, Arc::downgrade(&shared));
    Ok(connection)
}

fn find_in(known: &Known, key: &(StoreUrl, Id)) -> Option<ConnectionUse> {
    known.shared.get(key).and_then(Weak::upgrade)?.join()
}

fn pulse(url: &StoreUrl) -> Arc<Pulse> {
    let mut known = known();
    if let Some(pulse) = known.pulses.get(url).and_then(Weak::upgrade) {
        return pulse;
    }
    known.pulses.retain(|_, pulse| pulse.strong_count() > 0);
    let pulse = Arc::<Pulse>::default();
    let weak = Arc::downgrade(&pulse);
    known.pulses.insert(url.clone(), weak);
    pulse
}
