//! What a `memory:` URL says.

use std::collections::BTreeMap;
use std::sync::Weak;

use super::client::{Memory, Store};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::stores::StoreOptions;
use crate::sync::Mutex;

/// Opens `memory:` (a store of its own) or `memory:NAME` (one store for all
/// who name it in this process).
pub(crate) fn open(options: &StoreOptions, clock: Clock) -> Result<Memory> {
    let url = options.url()?;
    if !url.hosts().is_empty() {
        return Err(Error::invalid(
            "the memory store has no host: write \"memory:\", or \"memory:NAME\" to share it",
        ));
    }
    let mut options = url.options();
    options.terms()?;
    options.finish()?;
    match url.path() {
        "" => Ok(Memory::with_clock(clock)),
        name => Ok(shared(name, clock)),
    }
}

/// The store called `name`, which lives as long as a client has it open.
fn shared(name: &str, clock: Clock) -> Memory {
    static NAMED: Mutex<BTreeMap<String, Weak<Store>>> = Mutex::new(BTreeMap::new());
    let mut named = NAMED.lock();
    named.retain(|_, store| store.strong_count() > 0);
    if let Some(store) = named.get(name).and_then(Weak::upgrade) {
        return Memory::on(store);
    }
    let memory = Memory::with_clock(clock);
    named.insert(name.to_owned(), memory.downgrade());
    memory
}
