//! What lies there and is not ours: links, other people's files, another
//! database in the place of ours.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use tenure::backend::{Backend, Bid};
use tenure::{ErrorKind, Result};
use tenure_testkit::peer::Peer;

use crate::support::{NOBODY, SOON, Stranger, TestFile, id, name, open, terms};

fn conflict<T: std::fmt::Debug>(result: Result<T>, words: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    for word in words {
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
}

/// What every file of a folder holds.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.metadata().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn nothing_is_written_through_a_link_beside_the_database() {
    for end in ["-bell", "-lock", "-wal", "-shm", "-journal"] {
        let place = TestFile::new();
        let secret = place.folder().join("secret");
        fs::write(&secret, "only for root").unwrap();
        symlink(&secret, place.beside(end)).unwrap();
        conflict(open(&place.url()).await, &[end, "symbolic link"]);
        assert_eq!(fs::read(&secret).unwrap(), b"only for root", "{end}");

        // Nor one that points at nothing: it is not created.
        fs::remove_file(&secret).unwrap();
        conflict(open(&place.url()).await, &[end]);
        assert!(!secret.exists(), "{end}");

        // Nor a second name of a file.
        fs::remove_file(place.beside(end)).unwrap();
        fs::write(&secret, "only for root").unwrap();
        fs::hard_link(&secret, place.beside(end)).unwrap();
        conflict(open(&place.url()).await, &[end, "hard link"]);
        assert_eq!(fs::read(&secret).unwrap(), b"only for root", "{end}");
    }
}

#[tokio::test]
async fn a_bell_that_became_a_link_is_neither_rung_nor_touched_nor_heard() {
    for options in ["", "?wake=poll"] {
        let place = TestFile::with(options);
        let store = place.open().await;
        let secret = place.folder().join("secret");
        fs::write(&secret, "only for root").unwrap();
        let before = fs::metadata(&secret).unwrap();
        fs::remove_file(place.beside("-bell")).unwrap();
        symlink(&secret, place.beside("-bell")).unwrap();
        let bid = Bid::new(name("m"), id("a"), terms(60_000));
        let token = store.acquire(&bid).await.unwrap().token().unwrap();
        assert!(store.release(&bid.held(token)).await.unwrap().is_won());
        let after = fs::metadata(&secret).unwrap();
        assert_eq!(fs::read(&secret).unwrap(), b"only for root");
        assert_eq!(
            (before.mtime(), before.mtime_nsec(), before.ctime_nsec()),
            (after.mtime(), after.mtime_nsec(), after.ctime_nsec())
        );
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_pipe_a_folder_or_a_diary_is_no_bell() {
    for end in ["-bell", "-lock"] {
        let place = TestFile::new();
        let made = std::process::Command::new("mkfifo")
            .arg(place.beside(end))
            .status();
        assert!(made.unwrap().success());
        conflict(open(&place.url()).await, &[end, "not a file"]);
        fs::remove_file(place.beside(end)).unwrap();
        fs::create_dir(place.beside(end)).unwrap();
        conflict(open(&place.url()).await, &[end, "not a file"]);
    }
    let place = TestFile::new();
    fs::write(place.beside("-bell"), "dear diary, today was fine").unwrap();
    conflict(open(&place.url()).await, &["-bell", "another program"]);
    let kept = fs::read(place.beside("-bell")).unwrap();
    assert_eq!(kept, b"dear diary, today was fine");
}

#[tokio::test]
async fn a_bell_of_another_user_is_refused() {
    let place = TestFile::new();
    fs::write(place.beside("-bell"), [0; 8]).unwrap();
    std::os::unix::fs::chown(place.beside("-bell"), Some(65534), Some(65534)).unwrap();
    conflict(open(&place.url()).await, &["-bell", "65534"]);
}

#[tokio::test]
async fn beside_a_database_of_another_program_nothing_is_made_changed_or_removed() {
    let place = TestFile::new();
    let sql = place.sql();
    sql.execute_batch(
        "PRAGMA journal_mode = wal; CREATE TABLE accounts (a); INSERT INTO accounts VALUES (7)",
    )
    .unwrap();
    fs::write(place.beside("-bell"), "theirs").unwrap();
    fs::write(place.beside("-journal"), "").unwrap();
    let before = contents(place.folder());
    conflict(open(&place.url()).await, &["another program"]);
    assert_eq!(contents(place.folder()), before);
    // What it had written is still there after a crash of its own.
    let copy = TestFile::new();
    for (file, bytes) in before {
        fs::write(copy.folder().join(file), bytes).unwrap();
    }
    conflict(open(&copy.url()).await, &["another program"]);
    let kept: i64 = copy
        .sql()
        .query_row("SELECT a FROM accounts", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 7);
    drop(sql);
}

#[tokio::test]
async fn the_log_of_a_database_that_was_moved_away_is_left_alone() {
    let place = TestFile::new();
    let sql = place.sql();
    sql.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE accounts (a)")
        .unwrap();
    fs::rename(place.file(), place.folder().join("accounts.db")).unwrap();
    let before = contents(place.folder());
    conflict(open(&place.url()).await, &["-wal", "another database"]);
    assert_eq!(contents(place.folder()), before);
    drop(sql);
}

/// A database of another program's, closed, to be moved over ours.
fn foreign(place: &TestFile, tables: &str) -> std::path::PathBuf {
    let path = place.folder().join("other.db");
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch(tables).unwrap();
    path
}

fn accounts(path: &Path) -> i64 {
    let sql = rusqlite::Connection::open(path).unwrap();
    sql.query_row("SELECT a FROM accounts", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test]
async fn another_database_moved_over_ours_is_not_touched() {
    for wal in ["", "PRAGMA journal_mode = wal;"] {
        let place = TestFile::new();
        let store = place.open().await;
        let bid = Bid::new(name("m"), id("a"), terms(60_000));
        let token = store.acquire(&bid).await.unwrap().token().unwrap();
        let tables = format!("{wal} CREATE TABLE accounts (a); INSERT INTO accounts VALUES (7)");
        let other = foreign(&place, &tables);
        let inode = fs::metadata(place.file()).unwrap().ino().to_string();
        fs::rename(&other, place.file()).unwrap();
        let before = fs::read(place.file()).unwrap();
        let renewed = store.renew(&[bid.held(token)]).await.remove(0);
        conflict(renewed, &["another program"]);
        conflict(store.owner(&bid.name).await, &["another program"]);
        conflict(open(&place.url()).await, &["another program"]);
        store.close().await.unwrap();
        assert_eq!(fs::read(place.file()).unwrap(), before, "not a byte");
        let log = place.beside("-wal");
        assert!(log.exists(), "not ours to remove any more ({inode})");
        // Without our log it is whole.
        fs::rename(place.file(), place.folder().join("back.db")).unwrap();
        assert_eq!(accounts(&place.folder().join("back.db")), 7);
    }
}

#[tokio::test]
async fn another_store_moved_over_ours_does_not_meet_the_old_log() {
    let place = TestFile::new();
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    let token = store.acquire(&bid).await.unwrap().token().unwrap();
    let second = TestFile::new();
    let other = second.open().await;
    let theirs = Bid::new(name("theirs"), id("b"), terms(60_000));
    assert!(other.acquire(&theirs).await.unwrap().is_won());
    other.close().await.unwrap();
    let ours = fs::metadata(place.file()).unwrap().ino().to_string();
    // Beside ours first: a rename does not cross file systems.
    let copy = place.folder().join("copy.db");
    fs::copy(second.file(), &copy).unwrap();
    let new = fs::metadata(&copy).unwrap().ino().to_string();
    fs::rename(&copy, place.file()).unwrap();
    let before = fs::read(place.file()).unwrap();
    let words = [ours.as_str(), new.as_str(), "-wal"];
    conflict(store.renew(&[bid.held(token)]).await.remove(0), &words);
    conflict(store.owner(&bid.name).await, &words);
    // Also for who comes later and has never seen the old one.
    let trouble = Peer::contending(&place.url(), "m")
        .spawn()
        .wait_trouble(SOON);
    assert!(
        trouble.contains("-wal") && trouble.contains(&ours),
        "{trouble}"
    );
    store.close().await.unwrap();
    conflict(open(&place.url()).await, &words);
    assert_eq!(fs::read(place.file()).unwrap(), before, "not a byte");
    // As it says: without the old log all is well.
    fs::remove_file(place.beside("-wal")).unwrap();
    fs::remove_file(place.beside("-shm")).unwrap();
    let store = place.open().await;
    let owner = store.owner(&theirs.name).await.unwrap();
    assert!(owner.owner().is_owner(&theirs.contender), "{owner:?}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn whoever_can_only_read_the_files_keeps_nobody_from_opening() {
    let place = TestFile::with("?mode=0644");
    place.open().await.close().await.unwrap();
    fs::set_permissions(place.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let held = ["", "-bell", "-lock"].map(|end| {
        let holder = Stranger::locking(&NOBODY, "--exclusive", &place.beside(end));
        // What it cannot open it cannot lock.
        assert_eq!(holder.is_some(), end != "-lock", "{end}");
        holder
    });
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    assert!(store.acquire(&bid).await.unwrap().is_won());
    store.close().await.unwrap();
    drop(held);
}
