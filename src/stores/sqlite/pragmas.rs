//! What the application sets on a connection: the key of the file, and pragmas.

use rusqlite::Connection;

use super::config::Config;
use super::error::failed;
use crate::error::{Error, ErrorKind, Outcome, Result};

/// Pragmas that touch no promise of the store: how much memory and disk is used, and how SQLCipher
/// makes and reads its pages. Any other is refused, for most can take one away: `journal_mode`,
/// `locking_mode` and `synchronous` decide who sees what and what survives, `busy_timeout` ends our
/// waiting for others, `application_id` says whose the file is, and `wal_autocheckpoint`
/// is set by the store itself, by who writes.
const HARMLESS: [&str; 12] = [
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "cipher_compatibility",
    "cipher_hmac_algorithm",
    "cipher_kdf_algorithm",
    "cipher_memory_security",
    "cipher_page_size",
    "journal_size_limit",
    "kdf_iter",
    "secure_delete",
    "temp_store",
];

/// Whether all of `pragmas` may be set.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid), naming those that may.
pub(super) fn check(pragmas: &[(String, String)]) -> Result<()> {
    for (name, value) in pragmas {
        if !HARMLESS.contains(&name.as_str()) {
            return Err(Error::invalid(format!(
                "the pragma {:?} cannot be set on the store's connection; those that can are: {}",
                crate::backend::url::brief(name),
                HARMLESS.join(", ")
            )));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if value.is_empty() || !value.chars().all(plain) {
            return Err(Error::invalid(format!(
                "the value of the pragma {name:?} is a number or a word"
            )));
        }
    }
    Ok(())
}

/// Before the first statement.
pub(super) fn set(connection: &Connection, config: &Config) -> Result<()> {
    if let Some(key) = &config.key {
        // Not the driver's words: they may repeat the statement.
        let unlocked = set_one(connection, "key", key.reveal());
        unlocked.map_err(|_| {
            Error::new(ErrorKind::Denied, Outcome::DidNot)
                .with_message("SQLCipher does not take the key of the SQLite file")
        })?;
    }
    for (name, value) in &config.pragmas {
        set_one(connection, name, value).map_err(failed)?;
    }
    Ok(())
}

/// Some answer with a row, some do not.
fn set_one(connection: &Connection, name: &str, value: &str) -> rusqlite::Result<()> {
    match value.parse::<i64>() {
        Ok(number) if name != "key" => connection.pragma_update(None, name, number),
        _ => connection.pragma_update(None, name, value),
    }
}

/// Refuses a key where SQLite has no SQLCipher: it would be ignored without a word, and the file
/// written in clear.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid), saying what to build with.
pub(super) fn check_library() -> Result<()> {
    let asked = Connection::open_in_memory().and_then(|memory| {
        memory.pragma_query_value(None, "cipher_version", |row| row.get::<_, String>(0))
    });
    match asked {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::invalid(
            "this program's SQLite has no SQLCipher, so the file would not be encrypted: build it \
             with the feature \"bundled-sqlcipher\" of rusqlite, or leave the key out",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_touches_no_promise_may_be_set() {
        let one = |name: &str, value: &str| check(&[(name.to_owned(), value.to_owned())]);
        for (name, value) in [("cache_size", "-2000"), ("temp_store", "memory")] {
            one(name, value).unwrap();
        }
        for (name, value) in [
            ("journal_mode", "wal"),
            ("JOURNAL_MODE", "delete"),
            ("main.synchronous", "off"),
            ("synchronous", "off"),
            ("locking_mode", "exclusive"),
            ("busy_timeout", "0"),
            ("application_id", "1"),
            ("writable_schema", "on"),
            ("key", "s3cret"),
            ("cache_size", "1; PRAGMA synchronous = off"),
            ("cache_size", "'1'"),
            ("cache_size", ""),
            ("wal_autocheckpoint", "500"),
        ] {
            let error = one(name, value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{name}={value}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}
