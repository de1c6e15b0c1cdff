//! Majority mode.

use tenure::ErrorKind;
use tenure::combination::Mode;

use super::support::*;

#[tokio::test]
async fn a_majority_is_enough_whoever_has_the_rest() {
    let (name, servers) = ("majority", servers(3));
    occupy(&servers[0], name);
    let leftmost = contender(&servers, name).await;
    assert!(
        leftmost.try_acquire().await.unwrap().is_none(),
        "lost at node 1"
    );
    let builder = || patient().mode(Mode::Majority).nodes(over(&servers));
    let one = build(builder(), name).await;
    let other = build(builder(), name).await;
    let guard = one.try_acquire().await.unwrap().expect("nodes 2 and 3");
    assert!(other.try_acquire().await.unwrap().is_none());
    one_holder(&servers[1..], name);
    assert_eq!(holder(&servers[0], name).as_deref(), Some("stranger"));
    guard.release().await.unwrap();
    free_everywhere(&servers[1..], name).await;
    occupy(&servers[2], name);
    assert!(
        one.try_acquire().await.unwrap().is_none(),
        "node 2 is no majority"
    );
    free_everywhere(&servers[1..2], name).await;
    assert_eq!(holder(&servers[0], name).as_deref(), Some("stranger"));
}

#[tokio::test]
async fn a_dead_minority_does_no_harm_and_a_dead_majority_is_an_error() {
    let (name, servers) = ("majority-dead", servers(3));
    let builder = patient().mode(Mode::Majority).nodes(over(&servers));
    let lock = build(builder, name).await;
    servers[1].kill().unwrap();
    let guard = lock.try_acquire().await.unwrap().expect("two are left");
    guard.release().await.unwrap();
    servers[2].kill().unwrap();
    let error = lock.try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("too few nodes"), "{error}");
    free_everywhere(&servers[..1], name).await;
}
