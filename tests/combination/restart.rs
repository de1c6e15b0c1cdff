//! A node that has restarted empty may have forgotten a holder.

use super::support::*;

/// A holder on nodes 1 and 2; node 1 forgets; another that reaches nodes 1 and
/// 3 only must not hold as well.
pub(crate) async fn a_node_that_restarted_empty_does_not_count() {
    let (name, servers) = ("forgotten", servers(3));
    let expiry = SECOND * 12;
    let builder = || brisk(expiry).durable_nodes(false);
    for server in &servers {
        up_for(server, expiry + SECOND).await;
    }
    let old = Remote::with(builder(), &servers, name).await;
    let new = Remote::with(builder(), &servers, name).await;
    let trusting = Remote::with(builder().durable_nodes(true), &servers, name).await;
    old.lose(&[2]);
    let guard = old
        .lock
        .try_acquire()
        .await
        .unwrap()
        .expect("nodes 1 and 2");
    // It cannot take node 1 again.
    old.lose(&[0]);
    blocking(|| servers[0].restart_empty());
    new.lose(&[1]);
    // At first node 1 is found dead; then it answers a probe.
    loop {
        let error = new.lock.lock_now().await;
        assert!(!guard.is_lost(), "there is a holder meanwhile: {error}");
        if error.contains("not counted for another") {
            break;
        }
        tokio::time::sleep(SECOND / 10).await;
    }
    free_everywhere(&servers[..1], name).await;
    free_everywhere(&servers[2..], name).await;
    // The rule is what keeps the two apart.
    trusting.lose(&[1]);
    // Its connection to node 1 ended with that node, which it may find out only now.
    let second = loop {
        match trusting.lock.try_acquire().await {
            Ok(won) => break won,
            Err(error) => assert!(!guard.is_lost(), "there is a holder meanwhile: {error}"),
        }
        tokio::time::sleep(SECOND / 10).await;
    };
    assert!(
        second.is_some() && !guard.is_lost(),
        "who trusts is deceived"
    );
}

pub(crate) async fn nodes_that_have_just_started_count_one_expiry_later() {
    let (name, servers) = ("young", servers(2));
    let expiry = SECOND * 4;
    let builder = brisk(expiry).durable_nodes(false);
    let lock = build(builder.nodes(over(&servers)), name).await;
    let error = lock.lock_now().await;
    assert!(
        error.contains("restarted less than an expiry ago"),
        "{error}"
    );
    let guard = tokio::time::timeout(PATIENCE, lock.acquire()).await;
    let guard = guard.expect("in time").unwrap();
    for server in &servers {
        up_for(server, expiry).await;
    }
    guard.release().await.unwrap();
    free_everywhere(&servers, name).await;
}

trait Now {
    /// One attempt that must fail, in words.
    async fn lock_now(&self) -> String;
}

impl Now for tenure::CombinationLock {
    async fn lock_now(&self) -> String {
        let error = self.try_acquire().await.expect_err("too few that count");
        error.to_string()
    }
}
