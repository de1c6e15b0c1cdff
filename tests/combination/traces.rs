//! What must not be left behind: by lost answers, by futures that are dropped.

use tenure::backend::{Backend, Bid};
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure_testkit::servers::{Flow, Way};

use super::support::*;

#[tokio::test]
async fn a_node_whose_yes_was_lost_is_unlocked_with_the_others() {
    let (name, servers) = ("lost-yes", servers(3));
    let remote = Remote::new(&servers, name).await;
    remote.ways[1].cut_after(Way::ToClient, 0);
    let guard = remote
        .lock
        .try_acquire()
        .await
        .unwrap()
        .expect("two are enough");
    let id = holder(&servers[0], name);
    assert_eq!(holder(&servers[1], name), id, "it had said yes");
    guard.release().await.unwrap();
    free_everywhere(&servers, name).await;
}

#[tokio::test]
async fn a_lost_attempt_whose_answers_were_lost_leaves_nothing() {
    let (name, servers) = ("lost-all", servers(3));
    let remote = Remote::new(&servers, name).await;
    occupy(&servers[2], name);
    remote.ways[0].cut_after(Way::ToClient, 0);
    assert!(remote.lock.try_acquire().await.unwrap().is_none());
    free_everywhere(&servers[..2], name).await;
    assert_eq!(holder(&servers[2], name).as_deref(), Some("stranger"));
}

#[tokio::test]
async fn a_paused_node_that_wakes_up_is_unlocked() {
    let (name, servers) = ("wakes-up", servers(2));
    let lock = contender(&servers, name).await;
    servers[1].pause().unwrap();
    lock.try_acquire().await.unwrap_err();
    assert_eq!(holder(&servers[0], name), None);
    servers[1].resume().unwrap();
    free_everywhere(&servers, name).await;
}

#[tokio::test]
async fn what_undoes_an_attempt_cannot_touch_the_next() {
    let (name, servers) = ("next-attempt", servers(2));
    let remote = Remote::new(&servers, name).await;
    remote.lose(&[1]);
    let lock = remote.lock.clone();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    let token = format!("redisson_lock_token:{{{name}}}");
    eventually("an attempt has failed", || {
        let made = servers[0].command(&["EXISTS", &token]).unwrap();
        made == "1" && holder(&servers[0], name).is_none()
    })
    .await;
    remote.ways[1].heal().unwrap();
    let won = tokio::time::timeout(PATIENCE, waiting).await;
    let guard = won.expect("in time").unwrap().unwrap();
    let id = one_holder(&servers, name);
    let (_, attempt) = id.rsplit_once('~').expect("the number of an attempt");
    assert!(attempt.parse::<u32>().unwrap() >= 1, "{id}");
    guard.release().await.unwrap();
    free_everywhere(&servers, name).await;
}

#[tokio::test]
async fn an_attempt_that_is_dropped_on_the_way_is_undone() {
    let (name, servers) = ("dropped", servers(3));
    let remote = Remote::new(&servers, name).await;
    for (index, way) in remote.ways.iter().enumerate() {
        way.set(Way::ToClient, Flow::Hold);
        let mut waiting = Box::pin(remote.lock.acquire());
        let server = &servers[index];
        tokio::select! {
            _ = &mut waiting => unreachable!("its answer is held"),
            () = eventually("locked", || holder(server, name).is_some()) => {}
        }
        drop(waiting);
        way.heal().unwrap();
        free_everywhere(&servers, name).await;
    }
}

#[tokio::test]
async fn a_later_attempt_that_is_dropped_is_undone_too() {
    let (name, servers) = ("dropped-later", servers(2));
    let remote = Remote::new(&servers, name).await;
    occupy(&servers[1], name);
    let mut waiting = Box::pin(remote.lock.acquire());
    let token = format!("redisson_lock_token:{{{name}}}");
    let lost = eventually("an attempt was lost", || {
        let made = servers[0].command(&["EXISTS", &token]).unwrap();
        made == "1" && holder(&servers[0], name).is_none()
    });
    tokio::select! {
        _ = &mut waiting => unreachable!("node 2 is another's"),
        () = lost => {}
    }
    remote.ways[0].set(Way::ToClient, Flow::Hold);
    tokio::select! {
        _ = &mut waiting => unreachable!("its answer is held"),
        () = eventually("locked", || holder(&servers[0], name).is_some()) => {}
    }
    drop(waiting);
    remote.ways[0].heal().unwrap();
    free_everywhere(&servers[..1], name).await;
}

#[tokio::test]
async fn close_gives_back_what_is_held() {
    let (name, servers) = ("closed", servers(2));
    let lock = contender(&servers, name).await;
    let guard = lock.acquire().await.unwrap();
    lock.close().await.unwrap();
    assert!(guard.is_lost());
    for server in &servers {
        assert_eq!(holder(server, name), None);
    }
    let error = lock.try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), tenure::ErrorKind::Closed, "{error}");
}

/// What undoes an attempt of the earlier bid may still be on its way.
#[tokio::test]
async fn a_later_bid_of_one_contender_has_another_id_at_the_nodes() {
    let (name, servers) = ("later-bid", servers(2));
    let builder = tenure::CombinationLock::builder().nodes(over(&servers));
    let builder = builder.expiry(60 * SECOND).durable_nodes(true);
    let store = builder.backend().await.unwrap();
    let terms = LeaseTerms::new(30 * SECOND, 30 * SECOND).unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let (mutex, contender) = (MutexName::new(name), ContenderId::new("one"));
        let mut bid = Bid::new(mutex.unwrap(), contender.unwrap(), terms);
        bid.unique_id = true;
        let won = store.acquire(&bid).await.unwrap();
        let held = bid.held(won.token().expect("it is free"));
        ids.push(one_holder(&servers, name));
        assert!(store.release(&held).await.unwrap().is_won());
        free_everywhere(&servers, name).await;
    }
    assert_eq!(ids[0], "one");
    assert_ne!(ids[0], ids[1]);
}
