//! A disk that is full, or smaller than the log would like.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tenure::backend::{AnyBackend, Backend, Bid, Severity};
use tenure::service::LocalContender;
use tenure::{Coordinator, ErrorKind, Outcome, Result, Retry};
use tenure_testkit::Whole as _;

use crate::support::{SOON, TestFile, id, name, open, terms};

/// Where the disk is mounted.
const PLACE: &str = "TENURE_SMALL_DISK";

/// Runs one of the tests below that are none by themselves, in a process that may mount
/// things.
fn run(test: &str) {
    let place = TestFile::new();
    // Captured: two runners speaking at once would confuse the reader that counts.
    let inner = Command::new("unshare")
        .args(["--map-root-user", "--mount", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("small_disk::{test}")])
        .args(["--ignored", "--nocapture"])
        .env(PLACE, place.folder())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&inner.stdout);
    let wrong = String::from_utf8_lossy(&inner.stderr);
    assert!(inner.status.success(), "{}: {said}{wrong}", inner.status);
}

/// A disk with this much room; `None` when the test is not to be run.
fn disk(size: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os(PLACE)?);
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
        .arg(&folder)
        .status()
        .unwrap();
    assert!(mounted.success());
    Some(folder)
}

/// Leaves not a byte.
fn fill(folder: &Path) {
    let mut filler = fs::File::create(folder.join("filler")).unwrap();
    for piece in [64 * 1024, 4096, 512] {
        while filler.write_all(&vec![7; piece]).is_ok() {}
    }
}

fn url(folder: &Path) -> String {
    let file = folder.join("locks.db");
    format!("sqlite:{}?ttl=600ms&transition=400ms", file.display())
}

async fn take_and_free(store: &AnyBackend, mutex: &str) -> Result<()> {
    let bid = Bid::new(name(mutex), id("a"), terms(60_000));
    let won = store.acquire(&bid).await?;
    let held = bid.held(won.token().expect("no other wants it"));
    assert!(store.release(&held).await?.is_won());
    Ok(())
}

async fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < end, "it did not come");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_disk_smaller_than_the_log_may_grow_is_enough() {
    run("with_less_room_than_the_log");
}

#[tokio::test]
#[ignore = "no test by itself: run by the one above, on a disk of its own"]
async fn with_less_room_than_the_log() {
    let Some(folder) = disk("512k") else { return };
    // Another has the file open, as a rule: the log is not removed in between.
    let other = open(&url(&folder)).await.unwrap();
    let store = open(&url(&folder)).await.unwrap();
    // A page of 4096 bytes for each write: twenty times what there is room for.
    for round in 0..1250 {
        for store in [&store, &other] {
            let done = take_and_free(store, "m").await;
            done.unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        }
    }
}

#[test]
fn owners_go_on_while_the_disk_is_full_and_space_brings_back_the_rest() {
    run("on_a_full_disk");
}

#[tokio::test]
#[ignore = "no test by itself: run by the one above, on a disk of its own"]
async fn on_a_full_disk() {
    let Some(folder) = disk("1m") else { return };
    let url = url(&folder);
    let coordinator = Coordinator::connect(&url).await.unwrap();
    let service = coordinator
        .contend_service(LocalContender::new("led").unwrap())
        .unwrap();
    service.start().unwrap();
    until(|| service.is_owner()).await;
    let first = service.tenure().unwrap();
    let store = open(&url).await.unwrap();
    take_and_free(&store, "m").await.unwrap();

    fill(&folder);
    // What the log has of the disk is used again and again.
    for _ in 0..200 {
        take_and_free(&store, "m").await.unwrap();
    }
    for _ in 0..3 {
        first.renewed().await.unwrap();
    }

    // The file cannot grow.
    let mut number = 0;
    let error = loop {
        number += 1;
        if let Err(error) = take_and_free(&store, &format!("{number:0>60}")).await {
            break error;
        }
        assert!(number < 10_000, "the disk is not full");
    };
    assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
    assert_eq!(error.outcome(), Outcome::DidNot, "{error:?}");
    assert_eq!(error.retry(), Retry::Later);
    assert!(error.to_string().contains("full"), "{error}");
    // Looking still works.
    store.owner(&name("m")).await.unwrap();

    fs::remove_file(folder.join("filler")).unwrap();
    until(|| service.is_owner()).await;
    take_and_free(&store, &format!("{number:0>60}"))
        .await
        .unwrap();
    let findings = store.check().await;
    assert!(
        findings.iter().all(|f| f.severity != Severity::Bad),
        "{findings:?}"
    );
    coordinator.close().await.unwrap();
}
