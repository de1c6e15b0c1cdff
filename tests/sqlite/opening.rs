//! What can be opened, and what is said of the rest.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use tenure::backend::{Backend, Bid, Severity};
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::Whole as _;
use tenure_testkit::peer::Peer;

use crate::support::{SOON, TestFile, id, name, open, terms};

async fn refused(url: &str, kind: ErrorKind, words: &str) {
    let error = open(url).await.expect_err(url);
    assert_eq!(error.kind(), kind, "{url}: {error:?}");
    assert!(error.to_string().contains(words), "{url}: {error}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_new_file_and_those_beside_it_are_for_their_owner_only() {
    let place = TestFile::new();
    let store = place.open().await;
    for end in ["", "-wal", "-shm", "-bell"] {
        assert_eq!(mode(&place.beside(end)), 0o600, "{end}");
    }
    store.close().await.unwrap();
    let shared = TestFile::with("?mode=0660");
    let store = shared.open().await;
    for end in ["", "-wal", "-shm", "-bell"] {
        assert_eq!(mode(&shared.beside(end)), 0o660, "{end}");
    }
    drop(store);
}

#[tokio::test]
async fn a_store_in_memory_is_refused_with_a_hint() {
    refused("sqlite::memory:", ErrorKind::Invalid, "\"memory:\"").await;
    let error = Coordinator::connect("sqlite::memory:").await.unwrap_err();
    assert!(error.to_string().contains("\"memory:\""), "{error}");
}

#[tokio::test]
async fn a_path_that_leads_nowhere_is_said() {
    let place = TestFile::new();
    let folder = place.folder().display();
    let url = format!("sqlite:{folder}/no/such/dir/locks.db");
    refused(&url, ErrorKind::NotFound, "create its directory").await;
    refused(
        &format!("sqlite:{folder}"),
        ErrorKind::Invalid,
        "not a file",
    )
    .await;
    fs::write(place.file(), "").unwrap();
    let url = format!("sqlite:{}/locks.db", place.file().display());
    refused(&url, ErrorKind::NotFound, "directory").await;
}

#[tokio::test]
async fn files_of_other_programs_are_left_alone() {
    let place = TestFile::new();
    fs::write(
        place.file(),
        "this is the diary of somebody else".repeat(50),
    )
    .unwrap();
    refused(&place.url(), ErrorKind::Conflict, "not a SQLite database").await;

    let place = TestFile::new();
    let sql = place.sql();
    sql.execute_batch("CREATE TABLE accounts (a); CREATE TABLE books (b)")
        .unwrap();
    drop(sql);
    let before = fs::read(place.file()).unwrap();
    refused(&place.url(), ErrorKind::Conflict, "accounts, books").await;
    assert_eq!(fs::read(place.file()).unwrap(), before, "not a byte");

    let place = TestFile::new();
    place
        .sql()
        .pragma_update(None, "application_id", 7)
        .unwrap();
    refused(&place.url(), ErrorKind::Conflict, "application id is 0x7").await;
}

#[tokio::test]
async fn a_newer_layout_is_refused() {
    let place = TestFile::new();
    place.open().await.close().await.unwrap();
    place.sql().pragma_update(None, "user_version", 2).unwrap();
    refused(&place.url(), ErrorKind::Conflict, "layout 2").await;
}

#[tokio::test]
async fn two_names_for_one_file_are_one_store_by_symbolic_and_none_by_hard_link() {
    let place = TestFile::new();
    let store = place.open().await;
    symlink(place.file(), place.beside("-link")).unwrap();
    let linked = open(&format!("sqlite:{}", place.beside("-link").display()))
        .await
        .unwrap();
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    assert!(store.acquire(&bid).await.unwrap().is_won());
    assert!(
        linked
            .owner(&bid.name)
            .await
            .unwrap()
            .owner()
            .is_owner(&bid.contender)
    );
    assert!(!place.beside("-link-bell").exists(), "one bell for both");
    drop((store, linked));

    fs::hard_link(place.file(), place.beside("-hard")).unwrap();
    let url = format!("sqlite:{}", place.beside("-hard").display());
    refused(&url, ErrorKind::Invalid, "hard links").await;
}

#[test]
fn a_directory_or_file_that_cannot_be_written_is_said() {
    let place = TestFile::new();
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    open(place.folder(), 0o555);
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let peer = |url: &str| Peer::contending(url, "m").through(&nobody).spawn();
    let trouble = peer(&place.url()).wait_trouble(SOON);
    assert!(trouble.contains("needs to read and write"), "{trouble}");

    // A store that only another user may write.
    let mut owner = Peer::contending(&place.url(), "m").spawn();
    owner.wait_acquired(SOON);
    open(place.folder(), 0o777);
    let trouble = peer(&place.url()).wait_trouble(SOON);
    assert!(trouble.contains("needs to read and write"), "{trouble}");
}

#[tokio::test]
async fn twenty_first_users_at_once_all_get_in() {
    let place = TestFile::with("?busy_timeout=10s");
    let opening: Vec<_> = (0..20)
        .map(|_| {
            let url = place.url();
            tokio::spawn(async move { open(&url).await })
        })
        .collect();
    for opened in opening {
        let store = opened.await.unwrap().unwrap();
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn what_was_left_by_a_file_that_is_gone_is_not_taken_for_the_new_ones() {
    let place = TestFile::new();
    let before = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    let token = before.acquire(&bid).await.unwrap().token().unwrap();
    fs::remove_file(place.file()).unwrap();
    // `before` still has the old file open, with its log.
    let after = place.open().await;
    assert!(!after.owner(&bid.name).await.unwrap().is_won());
    let other = Bid::new(name("m"), id("b"), terms(60_000));
    let next = after.acquire(&other).await.unwrap();
    assert!(next.is_won() && next.token().unwrap() > token, "{next:?}");
    let findings = after.check().await;
    assert!(
        findings.iter().all(|f| f.severity != Severity::Bad),
        "{findings:?}"
    );
    // And the old one finds out: there is one store again.
    let renewed = before.renew(&[bid.held(token)]).await.remove(0).unwrap();
    assert!(!renewed.is_won() && renewed.owner().is_owner(&other.contender));
    drop(before);
    assert!(
        after.acquire(&other).await.unwrap().is_won(),
        "it is still there"
    );
}

#[tokio::test]
async fn a_store_that_another_program_locks_says_so_in_time() {
    let place = TestFile::with("?busy_timeout=200ms");
    let store = place.open().await;
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    let bid = Bid::new(name("m"), id("a"), terms(60_000));
    let error = store.acquire(&bid).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(!error.may_have_happened() && error.to_string().contains("busy_timeout"));
    // Reading goes on meanwhile.
    assert!(!store.owner(&bid.name).await.unwrap().is_won());
    sql.execute_batch("ROLLBACK").unwrap();
    let end = std::time::Instant::now() + SOON;
    while !store
        .acquire(&bid)
        .await
        .is_ok_and(|answer| answer.is_won())
    {
        assert!(std::time::Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
