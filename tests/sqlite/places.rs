//! One file under several names, copied, mounted, left by an earlier version.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tenure::ErrorKind;
use tenure::backend::{Backend, Bid, Severity};
use tenure_testkit::Whole as _;
use tenure_testkit::peer::Peer;

use crate::support::{SOON, TestFile, id, name, open, terms};

/// How many POSIX locks are held on the file, by any process.
fn posix_locks(path: &Path) -> usize {
    let inode = format!(":{} ", fs::metadata(path).unwrap().ino());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let is_one = |line: &&str| line.contains(" POSIX ") && line.contains(&inode);
    locks.lines().filter(is_one).count()
}

#[tokio::test]
async fn a_second_client_in_the_process_takes_no_lock_from_the_first_by_closing() {
    let place = TestFile::new();
    let first = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    assert!(first.acquire(&bid).await.unwrap().is_won());
    let before = posix_locks(&place.file());
    assert!(before > 0, "SQLite holds a lock while the file is open");
    place.open().await.close().await.unwrap();
    assert_eq!(posix_locks(&place.file()), before);
    first.close().await.unwrap();
    assert_eq!(posix_locks(&place.file()), 0);
}

/// An application that gives Tenure its own database by mistake.
#[tokio::test]
async fn a_refused_database_keeps_the_locks_that_this_process_has_on_it() {
    let place = TestFile::new();
    let sql = place.sql();
    sql.execute_batch("CREATE TABLE accounts (a); BEGIN IMMEDIATE")
        .unwrap();
    let before = posix_locks(&place.file());
    assert!(before > 0);
    for _ in 0..3 {
        let error = open(&place.url()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    }
    assert_eq!(posix_locks(&place.file()), before);
}

/// As by `docker run -v /srv/locks.db:/locks.db`: the log of each container
/// would be another.
#[test]
fn a_file_that_is_mounted_by_itself_is_refused() {
    let place = TestFile::new();
    let mut owner = Peer::contending(&place.url(), "m").spawn();
    owner.wait_acquired(SOON);
    let elsewhere = TestFile::new();
    fs::write(elsewhere.file(), "").unwrap();
    let mount = format!(
        "mount --bind {} {} && exec \"$@\"",
        place.file().display(),
        elsewhere.file().display()
    );
    let command = [
        "unshare",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &mount,
        "sh",
    ];
    let mut peer = Peer::contending(&elsewhere.url(), "m")
        .through(&command)
        .spawn();
    let trouble = peer.wait_trouble(SOON);
    assert!(trouble.contains("mount its folder"), "{trouble}");
    // Its folder may be mounted: the log goes with it.
    let mount = format!(
        "mount --bind {} {} && exec \"$@\"",
        place.folder().display(),
        elsewhere.folder().display()
    );
    let command = [
        "unshare",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &mount,
        "sh",
    ];
    let mut peer = Peer::contending(&elsewhere.url(), "m")
        .through(&command)
        .spawn();
    peer.wait_line(SOON, "ready");
    assert_eq!(peer.acquired_within(Duration::from_secs(1)), None);
    owner.tell("quit");
    peer.wait_acquired(SOON);
}

/// The number of a deleted file is given to the next one.
#[test]
fn a_new_file_with_the_old_number_does_not_meet_the_old_log() {
    let place = TestFile::new();
    let mut owner = Peer::contending(&place.url(), "m").spawn();
    owner.wait_acquired(SOON);
    let other = TestFile::new();
    Peer::contending(&other.url(), "theirs").spawn().quit(SOON);
    owner.kill();
    assert!(fs::metadata(place.beside("-wal")).unwrap().len() > 0);
    let number = fs::metadata(place.file()).unwrap().ino();
    fs::remove_file(place.file()).unwrap();
    fs::copy(other.file(), place.file()).unwrap();
    let again = fs::metadata(place.file()).unwrap().ino() == number;
    let before = fs::read(place.file()).unwrap();
    let trouble = Peer::contending(&place.url(), "m")
        .spawn()
        .wait_trouble(SOON);
    assert!(
        trouble.contains("-wal"),
        "the same number: {again}; {trouble}"
    );
    assert_eq!(fs::read(place.file()).unwrap(), before);
}

#[tokio::test]
async fn a_copy_is_a_store_of_its_own_once_its_log_is_known_to_be_its_own() {
    let place = TestFile::new();
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    let token = store.acquire(&bid).await.unwrap().token().unwrap();
    let copy = TestFile::new();
    for end in ["", "-wal", "-bell"] {
        fs::copy(place.beside(end), copy.beside(end)).unwrap();
    }
    let error = open(&copy.url()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    assert!(error.to_string().contains("-bell"), "{error}");
    fs::remove_file(copy.beside("-bell")).unwrap();
    let other = copy.open().await;
    // All that was committed is there; from here on they are two.
    let owner = other.owner(&bid.name).await.unwrap();
    assert!(owner.owner().is_owner(&bid.contender), "{owner:?}");
    let held = bid.held(token);
    assert!(other.release(&held).await.unwrap().is_won());
    assert!(store.renew(&[held]).await.remove(0).unwrap().is_won());
    other.close().await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_taken_over_with_its_leases() {
    let place = TestFile::new();
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    assert!(store.acquire(&bid).await.unwrap().is_won());
    store.close().await.unwrap();
    // As it left it when it was killed: all in the log, nothing in the file.
    let (made, old) = (TestFile::new(), TestFile::new());
    let sql = made.sql();
    let wal = sql.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
    wal.unwrap();
    let from = place.file().display().to_string();
    sql.execute("ATTACH ?1 AS today", [from]).unwrap();
    let tables = {
        let all = "SELECT name, sql FROM today.sqlite_schema WHERE type = 'table'";
        let mut all = sql.prepare(all).unwrap();
        let both = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let tables = all.query_map([], both).unwrap();
        tables
            .collect::<Result<Vec<(String, String)>, _>>()
            .unwrap()
    };
    for (table, create) in tables {
        let copy = format!("{create}; INSERT INTO {table} SELECT * FROM today.{table};");
        sql.execute_batch(&copy).unwrap();
    }
    sql.execute_batch("DETACH today; PRAGMA user_version = 1")
        .unwrap();
    sql.pragma_update(None, "application_id", 0x7465_6e72)
        .unwrap();
    for end in ["", "-wal"] {
        fs::copy(made.beside(end), old.beside(end)).unwrap();
    }
    drop(sql);
    assert_eq!(fs::read(old.file()).unwrap()[68..72], [0; 4]);
    fs::write(old.beside("-bell"), [7; 8]).unwrap();
    let store = old.open().await;
    let owner = store.owner(&bid.name).await.unwrap();
    assert!(owner.owner().is_owner(&bid.contender), "{owner:?}");
    let other = Bid::new(name("m"), id("b"), terms(60_000));
    assert!(!store.acquire(&other).await.unwrap().is_won());
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_file_whose_creator_died_before_it_had_tables_is_finished() {
    let place = TestFile::new();
    place
        .sql()
        .pragma_update(None, "application_id", 0x7465_6e72)
        .unwrap();
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    assert!(store.acquire(&bid).await.unwrap().is_won());
    store.close().await.unwrap();
}

#[tokio::test]
async fn doctor_warns_of_who_may_read_and_not_write() {
    let place = TestFile::new();
    let store = place.open().await;
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o644)).unwrap();
    let findings = store.check().await;
    let warned = findings
        .iter()
        .any(|f| f.severity == Severity::Warning && format!("{f:?}").contains("lock it"));
    assert!(warned, "{findings:?}");
    store.close().await.unwrap();
}

/// A link of another user's must not lead us to a file of ours.
#[tokio::test]
async fn a_link_that_another_user_made_is_not_followed() {
    let place = TestFile::new();
    place.open().await.close().await.unwrap();
    let link = place.beside("-link");
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    let status = Command::new("chown")
        .args(["--no-dereference", "65534"])
        .arg(&link)
        .status();
    assert!(status.unwrap().success());
    let error = open(&format!("sqlite:{}", link.display()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    assert!(error.to_string().contains("65534"), "{error}");
}
