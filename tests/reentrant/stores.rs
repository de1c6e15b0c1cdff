//! The same story on every store.

use tenure::{Coordinator, ErrorKind, Holder};
use tenure_testkit::servers::{MariaDb, Postgres, ZooKeeper};

use crate::support::{by, fresh, shared, soon, url};

/// Holds, nests, excludes, hands over: two processes with two holders each.
async fn story(url: &str) {
    let (here, there) = (
        Coordinator::connect(url).await.unwrap(),
        Coordinator::connect(url).await.unwrap(),
    );
    let name = fresh("story");
    let lock = here.reentrant_lock(&name).unwrap();
    let me = Holder::new("a");
    let (a, b) = (lock.held_by(&me), by(&lock, "b"));
    let stranger = by(&there.reentrant_lock(&name).unwrap(), "c");
    let outer = a.acquire().await.unwrap();
    let token = outer.token().unwrap();
    // Another object of the same name is the same lock.
    let again = here.reentrant_lock(&name).unwrap();
    let namesake = by(&again, "a").try_acquire().await.unwrap();
    assert!(
        namesake.is_none(),
        "another holder of the same name is another"
    );
    let inner = again.held_by(&me).acquire().await.unwrap();
    let third = a.try_acquire().await.unwrap().expect("ours");
    assert_eq!((a.hold_count().unwrap(), third.hold_count()), (3, 3));
    assert_eq!(inner.token().unwrap(), token, "one grant, one token");
    assert!(a.is_held().unwrap() && !a.remaining().unwrap().is_zero());
    for other in [&b, &stranger] {
        assert!(!other.is_held().unwrap() && other.remaining().unwrap().is_zero());
        assert!(other.try_acquire().await.unwrap().is_none());
        let unlocked = other.release_kept().await.unwrap_err();
        assert_eq!(unlocked.kind(), ErrorKind::WrongState, "{unlocked}");
    }
    // In whatever order: the last one counts.
    outer.release().await.unwrap();
    drop(third);
    assert_eq!(a.hold_count().unwrap(), 1);
    assert!(stranger.try_acquire().await.unwrap().is_none());
    assert!(a.owner().await.unwrap().is_some());
    inner.release().await.unwrap();
    assert_eq!((a.hold_count().unwrap(), a.is_held().unwrap()), (0, false));
    let theirs = soon("a stranger's turn", stranger.acquire()).await.unwrap();
    assert!(theirs.token().unwrap() > token, "tokens rise");
    theirs.keep();
    assert!(
        b.try_acquire().await.unwrap().is_none(),
        "kept, not dropped"
    );
    stranger.release_kept().await.unwrap();
    let ours = soon("the last turn", b.acquire()).await.unwrap();
    ours.release().await.unwrap();
    here.close().await.unwrap();
    there.close().await.unwrap();
}

#[tokio::test]
async fn in_memory() {
    story(&format!("memory:{}", fresh("shared"))).await;
}

#[tokio::test]
async fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    story(&format!("sqlite:{}", folder.path().join("t.db").display())).await;
}

#[tokio::test]
async fn on_redis() {
    story(&url(shared())).await;
}

#[tokio::test]
async fn on_mariadb() {
    let server = MariaDb::start().unwrap();
    story(&server.url()).await;
}

#[tokio::test]
async fn on_postgres() {
    let server = Postgres::start().unwrap();
    story(&server.url()).await;
}

#[tokio::test]
async fn on_zookeeper() {
    let server = ZooKeeper::start().unwrap();
    story(&format!("zookeeper://{}", server.address())).await;
}
