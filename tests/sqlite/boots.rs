//! Who takes whose rows for those of an earlier boot.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use tenure::backend::{Backend, Bid};
use tenure::service::LocalContender;
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::peer::{Peer, PeerBuilder};

use crate::support::{NOBODY, SOON, Stranger, TestFile, id, name, open, terms};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

fn peer(place: &TestFile, id: &str) -> PeerBuilder {
    Peer::contending(&place.url(), "m")
        .id(id)
        .option("--ttl", "30s")
        .option("--transition", "1s")
}

/// In a container that sees another boot id, as those of systemd-nspawn do.
fn elsewhere(place: &TestFile, id: &str) -> PeerBuilder {
    let file = place.folder().join(format!("boot-id-of-{id}"));
    fs::write(&file, format!("{}\n", uuid())).unwrap();
    let mount = format!(
        "mount --bind {} {BOOT_ID} && exec \"$@\"",
        file.to_str().unwrap()
    );
    let command = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
    let command: Vec<_> = command.into_iter().chain([mount.as_str(), "sh"]).collect();
    peer(place, id).through(&command)
}

fn uuid() -> String {
    let bits = format!("{:032x}", fastrand::u128(..));
    let parts = [
        &bits[..8],
        &bits[8..12],
        &bits[12..16],
        &bits[16..20],
        &bits[20..],
    ];
    parts.join("-")
}

fn assert_waits(peer: &mut Peer) {
    peer.wait_line(SOON, "ready");
    assert_eq!(peer.acquired_within(Duration::from_secs(1)), None);
}

#[test]
fn a_container_with_another_boot_id_waits_for_an_owner_of_the_host() {
    let place = TestFile::new();
    let mut here = peer(&place, "here").spawn();
    let first = here.wait_acquired(SOON);
    let mut there = elsewhere(&place, "there").spawn();
    assert_waits(&mut there);
    here.tell("stop");
    here.wait_line(SOON, "stopped");
    let next = there.wait_acquired(SOON);
    assert!(next.token > first.token);
    // And the host for the container, which came second.
    here.tell("start");
    assert_eq!(here.acquired_within(Duration::from_secs(1)), None);
    there.quit(SOON);
    here.wait_acquired(SOON);
}

#[test]
fn the_host_waits_for_an_owner_in_a_container_with_another_boot_id() {
    let place = TestFile::new();
    let mut there = elsewhere(&place, "there").spawn();
    there.wait_acquired(SOON);
    let mut here = peer(&place, "here").spawn();
    assert_waits(&mut here);
    let mut third = elsewhere(&place, "third").spawn();
    assert_waits(&mut third);
    there.quit(SOON);
    // One of the two has it; a fourth, with an id of its own, sees that,
    // though the process that opened the file first has gone.
    let (mut owner, loser) = loop {
        if here.acquired_within(Duration::from_millis(20)).is_some() {
            break (here, third);
        }
        if third.acquired_within(Duration::from_millis(20)).is_some() {
            break (third, here);
        }
    };
    loser.quit(SOON);
    let mut fourth = elsewhere(&place, "fourth").spawn();
    assert_waits(&mut fourth);
    owner.tell("quit");
    fourth.wait_acquired(SOON);
}

#[test]
fn an_owner_that_is_stopped_is_alive() {
    let place = TestFile::new();
    let mut here = peer(&place, "here").spawn();
    here.wait_acquired(SOON);
    here.pause();
    let mut there = elsewhere(&place, "there").spawn();
    assert_waits(&mut there);
    here.resume();
}

#[test]
fn who_lives_is_seen_though_every_file_beside_the_database_was_deleted() {
    let place = TestFile::new();
    // Long enough that nothing is written in between.
    let mut here = peer(&place, "here").spawn();
    here.wait_acquired(SOON);
    for end in ["-bell", "-lock"] {
        let _ = fs::remove_file(place.beside(end));
    }
    let mut there = elsewhere(&place, "there").spawn();
    assert_waits(&mut there);
}

/// A user who may read the file may lock it (`flock`), and may let it go at any
/// moment. The owner that came meanwhile has made no call since.
#[test]
fn an_owner_that_came_while_a_reader_had_the_file_locked_is_alive() {
    let place = TestFile::with("?mode=0644");
    fs::set_permissions(place.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut first = peer(&place, "first").spawn();
    first.wait_acquired(SOON);
    first.quit(SOON);
    for how in ["--exclusive", "--shared"] {
        let reader = Stranger::locking(&NOBODY, how, &place.file()).unwrap();
        let mut here = peer(&place, "here").spawn();
        here.wait_acquired(SOON);
        drop(reader);
        let mut there = elsewhere(&place, "there").spawn();
        assert_waits(&mut there);
        here.quit(SOON);
        there.wait_acquired(SOON);
        there.quit(SOON);
    }
}

/// An earlier version of this program has only a `flock`.
#[test]
fn a_user_that_has_the_lock_of_an_earlier_version_is_alive() {
    let place = TestFile::new();
    let mut before = peer(&place, "before").spawn();
    before.wait_acquired(SOON);
    let earlier = Stranger::locking(&["env"], "--shared", &place.file()).unwrap();
    before.kill();
    let mut there = elsewhere(&place, "there").spawn();
    assert_waits(&mut there);
    there.quit(SOON);
    drop(earlier);
    elsewhere(&place, "third").spawn().wait_acquired(SOON);
}

/// Nothing is released while a callback runs (promise 6): the lease runs out
/// first, also for those with another boot id.
#[tokio::test(flavor = "multi_thread")]
async fn what_still_runs_when_its_coordinator_has_closed_is_alive() {
    let place = TestFile::with("?ttl=30s&transition=1s");
    let quick = Coordinator::builder().quiesce(Duration::from_millis(100));
    let coordinator = quick.connect(place.url()).await.unwrap();
    let (let_go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let (tell, acquired) = mpsc::channel();
    let stuck = LocalContender::new("m").unwrap().on_acquired(move |_| {
        tell.send(()).unwrap();
        let _ = wait.lock().unwrap().recv();
    });
    let service = coordinator.contend_service(stuck).unwrap();
    service.start().unwrap();
    tokio::task::block_in_place(|| acquired.recv_timeout(SOON).unwrap());
    let error = coordinator.close().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unconfirmed, "{error:?}");
    tokio::task::block_in_place(|| {
        let mut there = elsewhere(&place, "there").spawn();
        assert_waits(&mut there);
    });
    drop(let_go);
}

#[test]
fn after_a_change_of_boot_with_nobody_alive_all_is_free_at_once() {
    let place = TestFile::new();
    let mut before = elsewhere(&place, "before").option("--ttl", "1h").spawn();
    let first = before.wait_acquired(SOON);
    // As by a loss of power: nothing is given back.
    before.kill();
    let mut after = peer(&place, "after").spawn();
    let begun = Instant::now();
    let next = after.wait_acquired(SOON);
    assert!(next.token > first.token);
    assert!(begun.elapsed() < SOON);
    // The first one in a boot sets its clock; the next ones follow.
    let mut other = elsewhere(&place, "other").spawn();
    assert_waits(&mut other);
    after.quit(SOON);
    other.wait_acquired(SOON);
}

/// A container may be given the same boot id after every boot of its host.
#[tokio::test]
async fn a_clock_that_began_again_is_another_boot_whatever_its_id() {
    let place = TestFile::new();
    let store = place.open().await;
    let bid = Bid::new(name("m"), id("a"), terms(3_600_000));
    let token = store.acquire(&bid).await.unwrap().token().unwrap();
    store.close().await.unwrap();
    // The host was up for a year when this was granted.
    let year = "UPDATE simba_mutex SET acquired_at = acquired_at + 31536000000,
        ttl_at = ttl_at + 31536000000, transition_at = transition_at + 31536000000";
    place.sql().execute_batch(year).unwrap();
    let store = place.open().await;
    let next = Bid::new(name("m"), id("b"), terms(3_600_000));
    let answer = store.acquire(&next).await.unwrap();
    assert!(
        answer.is_won() && answer.token().unwrap() > token,
        "{answer:?}"
    );
    // From here on it is as always, for all with that id.
    let same = place.open().await;
    let third = Bid::new(name("m"), id("c"), terms(60_000));
    assert!(!same.acquire(&third).await.unwrap().is_won());
    same.close().await.unwrap();
    store.close().await.unwrap();
    let again = place.open().await;
    assert!(
        !again.acquire(&third).await.unwrap().is_won(),
        "the lease runs"
    );
    again.close().await.unwrap();
}

/// Two clocks that disagree cannot both be right: none is let in.
#[tokio::test]
async fn a_clock_behind_that_of_a_living_user_is_refused() {
    let place = TestFile::new();
    let mut here = peer(&place, "here").spawn();
    here.wait_acquired(SOON);
    let ahead = "UPDATE simba_mutex SET acquired_at = acquired_at + 31536000000,
        ttl_at = ttl_at + 31536000000, transition_at = transition_at + 31536000000";
    place.sql().execute_batch(ahead).unwrap();
    let error = open(&place.url()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    assert!(error.to_string().contains("another clock"), "{error}");
}

/// A process that has never come in does not live there, however often it tries.
#[tokio::test]
async fn one_whose_opening_failed_keeps_nobody_out() {
    let place = TestFile::new();
    let mut before = peer(&place, "before").spawn();
    before.wait_acquired(SOON);
    before.kill();
    let ahead = "UPDATE simba_mutex SET acquired_at = acquired_at + 31536000000,
        ttl_at = ttl_at + 31536000000, transition_at = transition_at + 31536000000";
    place.sql().execute_batch(ahead).unwrap();
    let stranger = Stranger::locking(&[], "--shared", &place.file()).unwrap();
    let error = open(&place.url()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    drop(stranger);
    // This process lives on, and has nothing.
    let mut next = peer(&place, "next").spawn();
    next.wait_acquired(SOON);
}
