//! A cluster whose nodes all take writes: conflicts, late reads, a node cut off.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tenure::backend::{Answer, AnyBackend, Backend, Finding, Severity};
use tenure::lock::Fence;
use tenure_testkit::Whole as _;
use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, read_journal};
use tenure_testkit::servers::{Galera, MariaDb};

use crate::support::{bid, client, renew, until, win};

const SOON: Duration = Duration::from_secs(60);

static CLUSTER: LazyLock<Galera> =
    LazyLock::new(|| Galera::start().unwrap_or_else(|error| panic!("{error}")));

/// A client of each node; the tables are there, on both.
async fn clients(cluster: &Galera) -> [AnyBackend; 2] {
    let [first, second] = cluster.nodes();
    let first = client(&first.url()).await.unwrap();
    let second = until("the tables are on both", async || {
        client(&second.url()).await.ok()
    });
    [first, second.await]
}

/// How often a node's transaction lost against one of another's.
fn conflicts(node: &MariaDb) -> u64 {
    let names = "('wsrep_local_cert_failures', 'wsrep_local_bf_aborts')";
    let sql = format!("SHOW STATUS WHERE Variable_name IN {names}");
    let rows = node.sql(&sql).unwrap();
    let values = rows.lines().filter_map(|row| row.split_once('\t'));
    values.map(|(_, value)| value.parse::<u64>().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_never_grant_one_mutex_twice() {
    let nodes = clients(&CLUSTER).await;
    let met = || CLUSTER.nodes().iter().map(conflicts).sum::<u64>();
    let (before, mut rounds) = (met(), 0);
    // Until conflicts were met often enough to prove something.
    while rounds < 50 || met() < before + 10 {
        assert!(rounds < 2000, "the nodes do not meet");
        for round in rounds..rounds + 50 {
            let mutex = format!("fight-{}", round % 5);
            let tries = nodes.iter().zip(["a", "b"]).map(|(node, id)| {
                let (node, bid) = (node.clone(), bid(&mutex, id));
                tokio::spawn(async move { (node.acquire(&bid).await, bid, node) })
            });
            let mut owners = Vec::new();
            for tried in tries.collect::<Vec<_>>() {
                let (answer, bid, node) = tried.await.unwrap();
                match answer {
                    Ok(answer) => {
                        owners.extend(answer.token().map(|token| (bid.held(token), node)));
                    }
                    Err(error) => assert!(error.retry() == tenure::Retry::Later, "{error:?}"),
                }
            }
            assert!(owners.len() < 2, "{owners:?}");
            for (held, node) in owners {
                assert!(renew(&node, &held).await.unwrap().is_won());
                assert!(node.release(&held).await.unwrap().is_won());
            }
        }
        rounds += 50;
    }
}

/// The answer to a winning take is lost, the grant revoked, and the mutex
/// another's, at one node; the other has not heard of it yet.
#[tokio::test]
async fn a_grant_that_a_late_node_still_shows_is_nobodys() {
    let [first, second] = clients(&CLUSTER).await;
    for round in 0..100 {
        let mutex = format!("late-{round}");
        let ours = bid(&mutex, "a");
        let lost = win(&second, &ours).await;
        until("the first node has it", async || {
            let seen = first.revoke(&lost.name, Some(lost.token)).await.unwrap();
            seen.is_won().then_some(())
        })
        .await;
        let theirs = win(&first, &bid(&mutex, "b")).await;
        let again = second.acquire(&ours).await;
        let owns = again.as_ref().is_ok_and(Answer::is_won);
        assert!(!owns, "{theirs:?} owns, and {again:?}");
    }
}

/// An owner at a node that is cut off, and one who waits at the other.
#[test]
fn an_owner_whose_node_is_cut_off_is_followed_and_never_joined() {
    let cluster = Galera::start().unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let peer = |node: &MariaDb| {
        Peer::contending(&node.url(), "cut-off")
            .option("--ttl", "1200ms")
            .option("--transition", "800ms")
            .option("--journal", journal.to_str().unwrap())
            .spawn()
    };
    let [first, second] = cluster.nodes();
    for how in ["parted", "killed"] {
        let mut owner = peer(second);
        let token = owner.wait_acquired(SOON).token;
        let mut waiter = peer(first);
        waiter.wait_line(SOON, "ready");
        match how {
            "parted" => cluster.part(true).unwrap(),
            _ => second.kill().unwrap(),
        }
        assert!(waiter.wait_acquired(SOON).token > token, "{how}");
        owner.wait_line(SOON, "released");
        cluster.wait_for(1).unwrap();
        owner.kill();
        if how == "parted" {
            cluster.part(false).unwrap();
            cluster.wait_for(2).unwrap();
        }
        waiter.quit(SOON);
    }
    if let Err(violations) = judge(&read_journal(&journal)) {
        panic!("{}", violations[0]);
    }
}

/// What the doctor says of the clocks.
async fn clocks(store: &AnyBackend) -> Finding {
    let findings = store.check().await;
    let clocks = findings.iter().find(|one| one.subject == "clocks");
    clocks.unwrap_or_else(|| panic!("{findings:?}")).clone()
}

/// A node whose clock is ahead: whoever asks there finds a lease over that is
/// not, earlier by just as much.
#[tokio::test]
async fn a_node_whose_clock_is_ahead_ends_leases_early_by_as_much() {
    const LEASE: Duration = Duration::from_secs(16);
    const AHEAD: Duration = Duration::from_secs(11);
    let cluster = Galera::with_own_clocks().unwrap_or_else(|error| panic!("{error}"));
    let [first, second] = clients(&cluster).await;
    assert_eq!(clocks(&first).await.severity, Severity::Good);
    cluster.nodes()[1].set_clock(AHEAD).unwrap();
    let told = clocks(&first).await;
    assert_eq!(told.severity, Severity::Warning, "{told:?}");
    let port = cluster.nodes()[1].port().to_string();
    assert!(told.detail.contains(&port), "{told:?}");
    let asked = Instant::now();
    let ours = win(&first, &bid("ahead", "a")).await;
    let their_bid = bid("ahead", "b");
    let theirs = until("the lease has ended there", async || {
        let answer = second.acquire(&their_bid).await.ok()?;
        Some(their_bid.held(answer.token()?))
    })
    .await;
    let took = asked.elapsed();
    assert!(
        took < LEASE - Duration::from_secs(1),
        "{took:?}: it did not end early"
    );
    assert!(
        took + Duration::from_secs(1) > LEASE - AHEAD,
        "{took:?}: by more than that"
    );
    // A resource that looks at tokens lets the first owner in no more.
    let fence = Fence::starting_at(theirs.token);
    assert!(
        fence.admit(ours.token).is_err(),
        "{theirs:?} after {ours:?}"
    );
    // The first owner learns of it at its next renewal, at its own node.
    let renewed = until("its node has heard of it", async || {
        let renewed = renew(&first, &ours).await.ok()?;
        (!renewed.is_won()).then_some(renewed)
    })
    .await;
    assert!(renewed.owner().is_owner(&theirs.contender), "{renewed:?}");
    // For those who ask at the first node it lasts longer, by as much: that
    // costs time and nothing else.
    let third = first.acquire(&bid("ahead", "c")).await.unwrap();
    let rest = third.owner().remaining(third.now());
    assert!(!third.is_won() && rest > Some(LEASE), "{third:?}");
}
