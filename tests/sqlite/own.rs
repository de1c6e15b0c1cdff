//! A key and pragmas of the application's.

use tenure::stores::sqlite::{SqliteOptions, Synchronous};
use tenure::stores::{self, StoreOptions};
use tenure::{Coordinator, ErrorKind};

use crate::support::TestFile;

/// Whether the SQLite that this is built with can encrypt: `--features rusqlite/bundled-sqlcipher`.
fn can_encrypt() -> bool {
    let memory = rusqlite::Connection::open_in_memory().unwrap();
    let version = memory.pragma_query_value(None, "cipher_version", |row| row.get::<_, String>(0));
    version.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pragmas_are_set_and_the_stores_own_stay() {
    let place = TestFile::new();
    let options = SqliteOptions::new(place.file())
        .with_synchronous(Synchronous::Full)
        .with_pragma("cache_size", "-500")
        .with_pragma("journal_size_limit", "100000")
        .with_pragma("secure_delete", "on");
    let coordinator = Coordinator::connect(options).await.unwrap();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    guard.release().await.unwrap();
    let mode = place
        .sql()
        .pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    assert_eq!(mode.unwrap(), "wal");
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_used_or_refused_and_never_shown() {
    let place = TestFile::new();
    let with = |key: &str| StoreOptions::from(SqliteOptions::new(place.file()).with_key(key));
    assert!(!format!("{:?}", with("s3cret")).contains("s3cret"));
    if !can_encrypt() {
        let error = Coordinator::connect(with("s3cret")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert!(error.to_string().contains("bundled-sqlcipher"), "{error}");
        assert!(!format!("{error:?}{error}").contains("s3cret"));
        assert!(!place.file().exists(), "nothing was written in clear");
        return;
    }
    let here = Coordinator::connect(with("s3'cret")).await.unwrap();
    let there = Coordinator::connect(with("s3'cret")).await.unwrap();
    let guard = here.lock("hidden-name").unwrap().acquire().await.unwrap();
    let seen = there.lock("hidden-name").unwrap().try_acquire().await;
    assert!(seen.unwrap().is_none(), "one owner at a time");
    for end in ["", "-wal"] {
        let bytes = std::fs::read(place.beside(end)).unwrap();
        let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        assert!(
            !has(b"hidden-name") && !has(b"simba_mutex"),
            "locks.db{end} is in clear"
        );
    }
    for wrong in [with("wr0ng-key"), SqliteOptions::new(place.file()).into()] {
        let error = Coordinator::connect(wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
        assert!(
            !format!("{error:?}{error}").contains("wr0ng-key"),
            "{error:?}"
        );
    }
    guard.release().await.unwrap();
    here.close().await.unwrap();
    there.close().await.unwrap();
    let again = Coordinator::connect(with("s3'cret")).await.unwrap();
    again.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_in_clear_is_not_taken_for_an_encrypted_one() {
    if !can_encrypt() {
        return;
    }
    let place = TestFile::new();
    let clear = Coordinator::connect(place.url()).await.unwrap();
    clear.close().await.unwrap();
    let options = SqliteOptions::new(place.file()).with_key("s3cret");
    let error = Coordinator::connect(options).await.unwrap_err();
    assert!(error.to_string().contains("not encrypted"), "{error}");
}

#[test]
fn pragmas_that_take_a_promise_away_are_refused() {
    for (name, value) in [
        ("journal_mode", "delete"),
        ("locking_mode", "exclusive"),
        ("synchronous", "off"),
        ("busy_timeout", "0"),
        ("key", "s3cret"),
    ] {
        let options = SqliteOptions::new("locks.db").with_pragma(name, value);
        let error = stores::check(&options.into()).unwrap_err().to_string();
        assert!(error.contains("those that can are: cache_size"), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}
