//! Two processes that reach different halves of the nodes.

use tenure::ErrorKind;

use super::support::*;

#[tokio::test]
async fn by_default_neither_of_two_halves_is_enough() {
    let (name, servers) = ("halves", servers(4));
    let (left, right) = (
        Remote::new(&servers, name).await,
        Remote::new(&servers, name).await,
    );
    left.lose(&[2, 3]);
    right.lose(&[0, 1]);
    for remote in [&left, &right] {
        let error = remote.lock.try_acquire().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    }
    free_everywhere(&servers, name).await;
    let few = patient().nodes(over(&servers)).min_available(2);
    let error = few.build(name).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = error.to_string();
    assert!(
        text.contains("use 3 or more") && text.contains("allow_disjoint_holders"),
        "{text}"
    );
}

#[tokio::test]
async fn where_it_is_allowed_both_halves_win() {
    let (name, servers) = ("both-halves", servers(4));
    let advisory = || patient().min_available(2).allow_disjoint_holders(true);
    let (left, right) = (
        Remote::with(advisory(), &servers, name).await,
        Remote::with(advisory(), &servers, name).await,
    );
    left.lose(&[2, 3]);
    right.lose(&[0, 1]);
    let one = left
        .lock
        .try_acquire()
        .await
        .unwrap()
        .expect("on nodes 1 and 2");
    let other = right
        .lock
        .try_acquire()
        .await
        .unwrap()
        .expect("on nodes 3 and 4");
    assert!(
        !one.is_lost() && !other.is_lost(),
        "two holders, as documented"
    );
    assert_ne!(
        one_holder(&servers[..2], name),
        one_holder(&servers[2..], name)
    );
    one.release().await.unwrap();
    other.release().await.unwrap();
    free_everywhere(&servers, name).await;
}
