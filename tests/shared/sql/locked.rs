//! A stranger's transaction holds a row: only that one mutex may suffer.

use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure_testkit::peer::Peer;

use crate::support::{bid, client, terms, until, win};
use crate::{SERVER, Server, dialect};

const LEASE: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_costs_nobody_else_their_tenure() {
    let coordinator = Coordinator::builder()
        .terms(terms(2_000, 2_000))
        .connect(SERVER.url())
        .await
        .unwrap();
    // More names that cannot be taken than there are connections.
    let mut strangers = Vec::new();
    let mut stuck = tokio::task::JoinSet::new();
    for number in 0..8 {
        let name = format!("stuck-{number}");
        let lock = coordinator.lock(&name).unwrap();
        lock.acquire().await.unwrap().release().await.unwrap();
        strangers.push(dialect::lock_row(&SERVER, &name).await);
        stuck.spawn(async move { lock.acquire().await.unwrap().release().await.unwrap() });
    }
    let mut guards = Vec::new();
    for number in 0..12 {
        let lock = coordinator
            .lock(format!("one-of-twelve-{number:02}"))
            .unwrap();
        let guard = lock.acquire().await.unwrap();
        let token = guard.token().unwrap();
        guards.push((number, guard, token));
    }
    let (_, sick, _) = guards.remove(5);
    let stranger = dialect::lock_row(&SERVER, "one-of-twelve-05").await;
    let locked_at = Instant::now();
    tokio::time::timeout(LEASE + Duration::from_secs(2), sick.lost())
        .await
        .expect("lost by the local clock, whatever the row does");
    assert!(sick.token().is_err());
    tokio::time::sleep((LEASE * 5 / 2).saturating_sub(locked_at.elapsed())).await;
    let lost = guards
        .iter()
        .filter(|(_, guard, token)| guard.token().ok() != Some(*token));
    let lost: Vec<_> = lost.map(|(number, ..)| number).collect();
    assert!(lost.is_empty(), "lost beside the locked one: {lost:?}");
    // And none stays sick.
    drop((stranger, strangers));
    let again = coordinator.lock("one-of-twelve-05").unwrap();
    let again = tokio::time::timeout(Duration::from_secs(30), again.acquire());
    again
        .await
        .expect("free again")
        .unwrap()
        .release()
        .await
        .unwrap();
    stuck.join_all().await;
    for (_, guard, _) in guards {
        guard.release().await.unwrap();
    }
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn a_batch_is_renewed_around_a_locked_row() {
    use tenure::backend::Backend as _;
    let store = client(&SERVER.url()).await.unwrap();
    let mut held = Vec::new();
    for number in 0..10 {
        held.push(win(&store, &bid(&format!("around-{number}"), "a")).await);
    }
    let lost = held[3].clone();
    assert!(store.release(&lost).await.unwrap().is_won());
    let stranger = dialect::lock_row(&SERVER, "around-7").await;
    let answers = tokio::time::timeout(Duration::from_secs(5), store.renew(&held));
    let answers = answers.await.expect("it waits for nobody");
    for (number, answer) in answers.into_iter().enumerate() {
        match number {
            3 => assert!(!answer.unwrap().is_won(), "it was released"),
            7 => {
                let error = answer.unwrap_err();
                assert_eq!(error.kind(), tenure::ErrorKind::Timeout, "{error:?}");
                assert_eq!(error.outcome(), tenure::Outcome::DidNot, "{error:?}");
            }
            _ => {
                let answer = answer.unwrap();
                let left = answer.owner().remaining(answer.now()).unwrap();
                assert!(
                    answer.is_won() && left >= Duration::from_secs(15),
                    "{answer:?}"
                );
            }
        }
    }
    drop(stranger);
    until("the row is free again", async || {
        crate::support::renew(&store, &held[7]).await.ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_locked_row_costs_the_server_few_connections_and_ends_with_the_client() {
    let server = Server::start().unwrap();
    let url = dialect::without_push(&server.url());
    let store = client(&url).await.unwrap();
    let held = win(&store, &bid("m", "a")).await;
    use tenure::backend::Backend as _;
    store.release(&held).await.unwrap();
    let _stranger = dialect::lock_row(&server, "m").await;
    let mut watcher = dialect::watcher(&server).await;
    let mut peers: Vec<_> = (0..3)
        .map(|number| {
            let peer = Peer::contending(&url, "m").id(&format!("p{number}"));
            peer.option("--ttl", "400ms")
                .option("--transition", "200ms")
                .spawn()
        })
        .collect();
    for peer in &mut peers {
        peer.wait_line(Duration::from_secs(60), "ready");
    }
    let (began_at, mut most) = (Instant::now(), 0);
    while began_at.elapsed() < Duration::from_secs(8) {
        most = most.max(dialect::blocked(&mut watcher).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    peers.into_iter().for_each(Peer::kill);
    let killed_at = Instant::now();
    until("nobody waits any more", async || {
        (dialect::blocked(&mut watcher).await == 0).then_some(())
    })
    .await;
    let took = killed_at.elapsed();
    // No call waits longer in the server than its client keeps its connection.
    assert!(
        most <= 12,
        "{most} sessions wait for the row at a time, for three contenders"
    );
    assert!(
        took < Duration::from_secs(4),
        "gone {took:?} after their clients"
    );
}
