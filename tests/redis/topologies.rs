//! TLS, logins and least permissions where there are several servers, and JVM
//! peers in a cluster.

use std::time::{Duration, Instant};

use tenure::ErrorKind;
use tenure::backend::{Backend, Hint};
use tenure_testkit::servers::{Redis, RedisCluster, RedisSentinel};

use crate::certificates::{Certificates, secured};
use crate::cluster::slot_of;
use crate::jvm::Jvm;
use crate::permits::{granted, is_enough_for_all, lines, nothing_denied};
use crate::support::{PATIENCE, Waiter, bid, fresh, long, lose, name, open, try_open, win, works};

const RESERVE: Duration = Duration::from_millis(250);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_with_tls_and_a_login_of_their_own_work() {
    let papers = Certificates::make();
    let login = "sentinel_user=guest&sentinel_password=secret";
    let [_, user, guest] = lines(&format!("redis+sentinel://tenure@host?master=m&{login}"))
        .try_into()
        .unwrap();
    let redis = tokio::task::block_in_place(|| {
        RedisSentinel::builder()
            .nodes(granted(secured(Redis::builder(), &papers), &user))
            .sentinels(secured(Redis::builder(), &papers).password("w@tch"))
            .start()
            .unwrap()
    });
    let setuser: Vec<&str> = guest.split(' ').skip(1).collect();
    let mut hosts = Vec::new();
    for sentinel in redis.sentinels() {
        let words = [&["ACL", "SETUSER"], setuser.as_slice()].concat();
        sentinel.command(&words).unwrap();
        hosts.push(format!("127.0.0.1:{}", sentinel.tls_port().unwrap()));
    }
    let url = |login: &str| {
        format!(
            "rediss+sentinel://tenure:secret@{}/0?master={}&{login}{}",
            hosts.join(","),
            RedisSentinel::MASTER_NAME,
            papers.options()
        )
    };
    let [master, _] = redis.nodes();
    is_enough_for_all(&url(&format!("{login}&")), master).await;
    nothing_denied(master);
    works(&url("sentinel_password=w%40tch&")).await;
    for wrong in ["", "sentinel_password=hunter2&"] {
        let error = try_open(&url(wrong)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
        assert!(!format!("{error:?}{error}").contains("hunter2"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_with_tls_least_permissions_and_jvm_peers_works() {
    let papers = Certificates::make();
    let user = lines("redis+cluster://tenure@host").remove(1);
    let cluster = tokio::task::block_in_place(|| {
        let node = granted(secured(Redis::builder(), &papers), &user);
        RedisCluster::builder(node).start().unwrap()
    });
    let seed = cluster.nodes()[2].tls_port().unwrap();
    let url = format!(
        "rediss+cluster://tenure:secret@localhost:{seed}?{}",
        papers.options()
    );
    is_enough_for_all(&url, &cluster.nodes()[slot_of(&cluster, "m").1]).await;
    let client = open(&url).await;
    for number in 0..20 {
        let mine = bid(&name(&format!("all-{number}")), "a", long());
        win(&client, &mine).await;
    }
    for node in cluster.nodes() {
        assert_ne!(node.command(&["DBSIZE"]).unwrap(), "0", "all of them");
        nothing_denied(node);
    }
    a_jvm_waiter_at_another_node_is_told(&client, &cluster).await;
    a_dead_jvm_waiter_costs_one_reservation(&client, &cluster).await;
}

/// A release cannot count who listens at other nodes: as if none heard it, it
/// is told all the same.
async fn a_jvm_waiter_at_another_node_is_told(ours: &impl Backend, cluster: &RedisCluster) {
    const LEASE: Duration = Duration::from_secs(60);
    let mutex = fresh("elsewhere");
    let at = slot_of(cluster, mutex.as_str()).1;
    let (here, elsewhere) = (&cluster.nodes()[at], &cluster.nodes()[(at + 1) % 3]);
    let jvm = Jvm::listening(here, elsewhere, mutex.as_str(), "jvm");
    let held = win(ours, &bid(&mutex, "rust", long())).await;
    let all = format!("simba:{{{mutex}}}");
    assert_eq!(jvm.hears(), format!("{all} acquired@@rust"));
    assert!(!jvm.acquire(LEASE), "ours has it");
    let mut waiter = Waiter::stand(ours, bid(&mutex, "next", long())).await;
    assert!(ours.release(&held).await.unwrap().is_won());
    assert_eq!(jvm.hears(), format!("{all}:jvm released@@rust"));
    assert!(jvm.acquire(LEASE), "nobody of ours is in its way");
    let answer = lose(ours, &waiter.bid).await;
    waiter.bid.score = answer.place().map(|place| place.score.clone());
    assert!(jvm.release());
    let next = waiter.win(ours).await;
    assert!(next.token > held.token);
}

/// Its silence proves nothing, so it is waited for; only not for long.
async fn a_dead_jvm_waiter_costs_one_reservation(ours: &impl Backend, cluster: &RedisCluster) {
    let mutex = fresh("dead");
    let here = &cluster.nodes()[slot_of(cluster, mutex.as_str()).1];
    let held = win(ours, &bid(&mutex, "rust", long())).await;
    assert!(!Jvm::deaf(here, mutex.as_str(), "dead").acquire(Duration::from_secs(60)));
    let mut waiter = Waiter::stand(ours, bid(&mutex, "next", long())).await;
    let released = Instant::now();
    assert!(ours.release(&held).await.unwrap().is_won());
    let told = tokio::time::timeout(PATIENCE, waiter.hints.next()).await;
    assert_eq!(told.unwrap(), Some(Hint::Turn), "the one who stands by");
    let answer = ours.acquire(&waiter.bid).await.unwrap();
    if answer.is_won() {
        let took = released.elapsed();
        assert!(
            took > RESERVE,
            "overtaken, unless the machine slept through it"
        );
    } else {
        let left = answer.owner().remaining(answer.now()).unwrap();
        assert!(left <= RESERVE, "{left:?}");
        assert!(answer.owner().is_owner(&"dead".parse().unwrap()));
        tokio::time::sleep(left + Duration::from_millis(2)).await;
        win(ours, &waiter.bid).await;
    }
    lose(ours, &bid(&mutex, "late", long())).await;
}
