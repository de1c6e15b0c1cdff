//! Nodes as a fuzzer makes them up, read as the client reads them. For crates/fuzz alone.

use std::hint::black_box;

use super::{ledger, path};
use crate::backend::LedgerEntry;
use crate::model::MutexName;

/// Reads `bytes` as the data of a ledger's node; what was read is read again as it would
/// be written.
pub fn ledger(bytes: &[u8]) -> Option<LedgerEntry> {
    let entry = ledger::parse(bytes)?;
    let again = ledger::parse(ledger::print(&entry).as_bytes());
    assert_eq!(again.as_ref(), Some(&entry));
    Some(entry)
}

/// Reads `text` as the names of nodes, and as a mutex's name that becomes one.
pub fn nodes(text: &str) {
    black_box((path::found(text), path::nonce_of(text), path::is_ours(text)));
    let mut children: Vec<String> = text.split('/').map(str::to_owned).collect();
    path::sort(&mut children);
    if let Ok(name) = MutexName::new(text) {
        let encoded = path::encode(text);
        assert_eq!(path::decode(&encoded), Some(name), "{encoded:?}");
    }
}
