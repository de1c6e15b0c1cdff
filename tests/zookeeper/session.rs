//! What becomes of a tenure when its process, its connection or its session
//! does not go on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use tenure::model::FencingToken;
use tenure::service::{ContendService, LocalContender};
use tenure::{Coordinator, Tenure};
use tenure_testkit::history::What;
use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, read_journal};
use tenure_testkit::servers::find::Server;
use tenure_testkit::servers::{Flow, Proxy, Way, ZooKeeper};

use crate::support::{PATIENCE, SERVER, coordinator, name, until};

/// A journal for the peers of one test.
struct Journal(PathBuf);

impl Journal {
    fn new(name: &str) -> Self {
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.journal")))
    }

    fn peer(&self, name: &str, id: &str, timeout: &str) -> Peer {
        let url = format!("zookeeper://{}?session_timeout={timeout}", SERVER.address());
        let peer = Peer::contending(&url, name).id(id);
        peer.option("--journal", self.0.to_str().unwrap()).spawn()
    }

    /// How much has been noted.
    fn len(&self) -> u64 {
        std::fs::metadata(&self.0).map_or(0, |file| file.len())
    }

    /// The tenures that have noted that they own.
    fn tokens(&self) -> BTreeSet<FencingToken> {
        let history = read_journal(&self.0);
        let events = history.events();
        let tokens = events.iter().filter_map(|event| match &event.what {
            What::Written { token, .. } => Some(*token),
            _ => None,
        });
        tokens.collect()
    }

    /// Waits until the second tenure has noted that it owns.
    fn wait_second(&self) {
        let end = std::time::Instant::now() + PATIENCE;
        while self.tokens().len() < 2 {
            let tokens = self.tokens();
            assert!(std::time::Instant::now() < end, "only {tokens:?} owned");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// No two owned at one moment, and at least two tenures were seen to own.
    fn judge(self) {
        if let Err(violations) = judge(&read_journal(&self.0)) {
            panic!("{}", violations[0]);
        }
        let tokens = self.tokens();
        assert!(tokens.len() >= 2, "only {tokens:?} owned");
        std::fs::remove_file(self.0).unwrap();
    }
}

fn contend(coordinator: &Coordinator, name: &str) -> ContendService<LocalContender> {
    let contender = LocalContender::new(name).unwrap();
    let service = coordinator.contend_service(contender).unwrap();
    service.start().unwrap();
    service
}

async fn leads(service: &ContendService<LocalContender>) -> Tenure {
    until("it leads", || service.is_owner()).await;
    service.tenure().unwrap()
}

#[test]
fn a_killed_owner_is_followed_when_its_session_has_expired() {
    let name = name("killed");
    let journal = Journal::new(&name);
    let mut owner = journal.peer(&name, "owner", "1s");
    owner.wait_acquired(PATIENCE);
    let mut doomed = journal.peer(&name, "doomed", "1s");
    doomed.wait_line(PATIENCE, "ready");
    std::thread::sleep(Duration::from_millis(300));
    let mut heir = journal.peer(&name, "heir", "1s");
    heir.wait_line(PATIENCE, "ready");
    doomed.kill();
    owner.kill();
    // T + 2 ticks, and what the machine takes.
    heir.wait_acquired(Duration::from_secs(2) + Duration::from_secs(5));
    journal.wait_second();
    heir.quit(PATIENCE);
    journal.judge();
}

#[test]
fn a_pause_shorter_than_the_lease_changes_nothing() {
    let name = name("short-pause");
    let journal = Journal::new(&name);
    let mut owner = journal.peer(&name, "owner", "6s");
    owner.wait_acquired(PATIENCE);
    let mut rival = journal.peer(&name, "rival", "6s");
    rival.wait_line(PATIENCE, "ready");
    owner.pause();
    std::thread::sleep(Duration::from_secs(1));
    owner.resume();
    let before = journal.len();
    let end = std::time::Instant::now() + PATIENCE;
    while journal.len() < before + 2000 {
        assert!(std::time::Instant::now() < end, "the owner goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!owner.said().iter().any(|line| line == "released"));
    owner.quit(PATIENCE);
    rival.wait_acquired(PATIENCE);
    journal.wait_second();
    rival.quit(PATIENCE);
    journal.judge();
}

#[test]
fn a_pause_longer_than_the_session_ends_the_tenure_before_anything_is_done() {
    let name = name("long-pause");
    let journal = Journal::new(&name);
    let mut owner = journal.peer(&name, "owner", "1s");
    let first = owner.wait_acquired(PATIENCE);
    let mut rival = journal.peer(&name, "rival", "1s");
    rival.wait_line(PATIENCE, "ready");
    owner.pause();
    let second = rival.wait_acquired(PATIENCE);
    assert!(second.token > first.token);
    owner.resume();
    owner.wait_line(PATIENCE, "released");
    rival.quit(PATIENCE);
    let third = owner.wait_acquired(PATIENCE);
    assert!(third.token > second.token);
    journal.wait_second();
    owner.quit(PATIENCE);
    journal.judge();
}

#[test]
fn a_pause_between_lease_and_session_ends_the_tenure_and_its_node() {
    let name = name("middle-pause");
    let journal = Journal::new(&name);
    let mut owner = journal.peer(&name, "owner", "4s");
    let first = owner.wait_acquired(PATIENCE);
    let mut rival = journal.peer(&name, "rival", "4s");
    rival.wait_line(PATIENCE, "ready");
    std::thread::sleep(Duration::from_millis(500));
    owner.pause();
    // 5/8 of the session's 4 s are over, the session is not, as a rule.
    std::thread::sleep(Duration::from_millis(3000));
    owner.resume();
    owner.wait_line(PATIENCE, "released");
    // Its node is deleted, so the rival is next; not the old node once more.
    let second = rival.wait_acquired(PATIENCE);
    assert!(second.token > first.token);
    rival.quit(PATIENCE);
    assert!(owner.wait_acquired(PATIENCE).token > second.token);
    journal.wait_second();
    owner.quit(PATIENCE);
    journal.judge();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_ends_the_tenure_before_another_leads() {
    tokio::join!(
        partition(None),
        partition(Some(Way::ToServer)),
        partition(Some(Way::ToClient)),
    );
}

/// Of both ways, or of one.
async fn partition(way: Option<Way>) {
    let name = name("partition");
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let here = coordinator(proxy.address(), "1s").await;
    let there = coordinator(SERVER.address(), "1s").await;
    let ours = contend(&here, &name);
    let tenure = leads(&ours).await;
    let rival = contend(&there, &name);
    until("the rival waits", || {
        rival.state().after.owner_id().is_some()
    })
    .await;
    match way {
        None => proxy.partition(),
        Some(way) => proxy.set(way, Flow::Hold),
    }
    let next = leads(&rival).await;
    assert!(tenure.is_lost(), "two valid tenures, {way:?}");
    assert!(Some(next.token().unwrap()) > tenure.token().unwrap_err().token);
    proxy.heal().unwrap();
    rival.stop().await.unwrap();
    let again = leads(&ours).await;
    assert!(Some(again.token().unwrap()) > next.token().unwrap_err().token);
    here.close().await.unwrap();
    there.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_changes_nothing() {
    let name = name("cut");
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let here = coordinator(proxy.address(), "10s").await;
    let ours = contend(&here, &name);
    let tenure = leads(&ours).await;
    for _ in 0..10 {
        proxy.cut().unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // A lease of 6.25 s, renewed after the last cut.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let renewed = || tenure.is_lost() || tenure.remaining() > Duration::from_millis(5500);
    until("it is renewed", renewed).await;
    assert!(!tenure.is_lost(), "the session lived");
    here.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_survives_a_cut_at_any_byte() {
    let name = name("bytes");
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let here = coordinator(proxy.address(), "10s").await;
    let lock = here.lock(&name).unwrap();
    let mut last = None;
    for way in [Way::ToServer, Way::ToClient] {
        // Within the create, the list, the delete, and after each.
        for bytes in [0, 1, 30, 90, 140, 200, 260] {
            proxy.cut_after(way, bytes);
            let guard = lock.acquire().await.unwrap();
            let token = guard.token().unwrap();
            assert!(last < Some(token), "{way:?} {bytes}");
            last = Some(token);
            guard.release().await.unwrap();
        }
    }
    proxy.heal().unwrap();
    here.close().await.unwrap();
    let at = SERVER.address().to_string();
    let raw = zookeeper_client::Client::connect(&at).await.unwrap();
    let left = raw.list_children(&format!("/simba/{name}")).await;
    assert_eq!(left.unwrap_or_default(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_ends_the_tenure_in_time() {
    let server = ZooKeeper::start().unwrap();
    let here = coordinator(server.address(), "1s").await;
    let ours = contend(&here, "still");
    let tenure = leads(&ours).await;
    let sent = std::time::Instant::now();
    server.pause().unwrap();
    tenure.lost().await;
    // No server had to answer for that. 5/8 T, and what the machine takes.
    assert!(
        sent.elapsed() < Duration::from_secs(5),
        "{:?}",
        sent.elapsed()
    );
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.resume().unwrap();
    let again = leads(&ours).await;
    assert!(Some(again.token().unwrap()) > tenure.token().unwrap_err().token);
    here.close().await.unwrap();
}

#[test]
fn wall_clocks_an_hour_off_change_nothing() {
    let library = Server::Faketime.find_all().unwrap().remove(0);
    let name = name("faketime");
    let journal = Journal::new(&name);
    let url = format!("zookeeper://{}?session_timeout=2s", SERVER.address());
    let peer = |id: &str, shift: &str| {
        let peer = Peer::contending(&url, &name).id(id);
        let peer = peer.option("--journal", journal.0.to_str().unwrap());
        let peer = peer.option("--hold", "150ms").option("--rounds", "4");
        let peer = peer.env("LD_PRELOAD", &library).env("FAKETIME", shift);
        peer.env("DONT_FAKE_MONOTONIC", "1").spawn()
    };
    let peers = [
        peer("early", "-1h"),
        peer("right", "+0"),
        peer("late", "+1h"),
    ];
    for mut peer in peers {
        peer.wait_line(PATIENCE, "bye");
    }
    journal.judge();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_finds_its_owner_or_a_new_tenure() {
    let server = ZooKeeper::start().unwrap();
    let name = name("restart");
    let here = coordinator(server.address(), "10s").await;
    let there = coordinator(server.address(), "2s").await;
    let (long, short) = (contend(&here, &name), contend(&there, "other"));
    let (kept, lost) = (leads(&long).await, leads(&short).await);
    // Soon enough for a session of 10 s, unless the machine is very slow.
    let down = std::time::Instant::now();
    server.restart().unwrap();
    let quick = down.elapsed() < Duration::from_secs(3);
    until("the store answers", || server.mode().is_ok()).await;
    leads(&long).await;
    if quick {
        assert!(!kept.is_lost(), "an outage of {:?}", down.elapsed());
    }
    // Too late for one of 2 s.
    server.kill().unwrap();
    until("its deadline", || lost.is_lost()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.start().unwrap();
    let again = leads(&short).await;
    assert!(Some(again.token().unwrap()) > lost.token().unwrap_err().token);
    here.close().await.unwrap();
    there.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_contenders_survive_a_reconnect_storm() {
    const CLIENTS: usize = 25;
    const EACH: usize = 20;
    let name = name("storm");
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let mut coordinators = Vec::new();
    let mut services = Vec::new();
    for _ in 0..CLIENTS {
        let coordinator = coordinator(proxy.address(), "3s").await;
        services.extend((0..EACH).map(|_| contend(&coordinator, &name)));
        coordinators.push(coordinator);
    }
    let at = SERVER.address().to_string();
    let raw = zookeeper_client::Client::connect(&at).await.unwrap();
    let path = format!("/simba/{name}");
    let standing = async || raw.list_children(&path).await.map_or(0, |c| c.len());
    let leaders = |services: &[ContendService<LocalContender>]| {
        services.iter().filter(|s| s.is_owner()).count()
    };
    let all_stand = async |count| {
        let end = std::time::Instant::now() + PATIENCE * 2;
        loop {
            let found = standing().await;
            assert!(leaders(&services) <= 1, "two valid tenures");
            if found == count && leaders(&services) == 1 {
                return;
            }
            assert!(std::time::Instant::now() < end, "{found} stand");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    all_stand(CLIENTS * EACH).await;
    proxy.cut().unwrap();
    all_stand(CLIENTS * EACH).await;
    // A storm in which every session is lost.
    proxy.refuse().unwrap();
    proxy.cut().unwrap();
    until("the leader steps down", || leaders(&services) == 0).await;
    while standing().await > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    proxy.heal().unwrap();
    all_stand(CLIENTS * EACH).await;
    // Together: each takes back the attempts that it had under way.
    let closing = coordinators.into_iter();
    let closing = closing.map(|one| tokio::spawn(async move { one.close().await }));
    for closed in closing.collect::<Vec<_>>() {
        closed.await.unwrap().unwrap();
    }
    assert_eq!(standing().await, 0, "nothing is left behind");
}

#[test]
fn two_processes_that_are_given_the_same_chance_do_not_both_own() {
    tenure_testkit::every_store::same_chance::one_of_two_owns(&format!(
        "zookeeper://{}",
        SERVER.address()
    ));
}
