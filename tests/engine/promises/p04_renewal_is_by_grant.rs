//! A renewal extends the same tenure and nothing else.

use tenure::LossCause;
use tenure::backend::{Backend, Bid};
use tenure_testkit::Whole as _;

use crate::support::{Listener, World, name, secs};

#[tokio::test(start_paused = true)]
async fn two_live_contenders_with_one_id_never_own_together() {
    let world = World::new();
    let (one, two) = (world.process().0, world.process().0);
    let first = one.contend_service(Listener::named("m", "twin")).unwrap();
    let second = two.contend_service(Listener::named("m", "twin")).unwrap();
    first.start().unwrap();
    second.start().unwrap();
    for _ in 0..60 {
        world.pass(secs(1)).await;
        assert!(!(first.is_owner() && second.is_owner()));
    }
    assert!(first.is_owner() != second.is_owner());
    let (owner, other) = if first.is_owner() {
        (first, second)
    } else {
        (second, first)
    };
    let heard = other.contender().heard.lock().unwrap().clone();
    let id = tenure::service::Contender::contender_id(other.contender()).clone();
    assert!(
        !heard.iter().any(|state| state.is_acquired(&id)),
        "the twin was told it owns"
    );
    let token = owner.tenure().unwrap().token().unwrap();
    owner.stop().await.unwrap();
    world.until("the twin owns", || other.is_owner()).await;
    assert!(other.tenure().unwrap().token().unwrap() > token);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_was_taken_over_under_the_same_id_is_lost() {
    let world = World::new();
    let (process, _) = world.process();
    let service = process.contend_service(Listener::named("m", "me")).unwrap();
    service.start().unwrap();
    world.until("owned", || service.is_owner()).await;
    let tenure = service.tenure().unwrap();

    world.store.revoke(&name("m"), None).await.unwrap();
    let twin = tenure::model::ContenderId::new("me").unwrap();
    let bid = Bid::new(name("m"), twin, world.terms);
    let answer = world.store.acquire(&bid).await.unwrap();
    assert!(answer.is_won());
    assert_eq!(tenure.lost().await.cause, LossCause::Taken);
    let owner = world.owner("m").await;
    assert_eq!(
        owner.token(),
        answer.token(),
        "the twin's grant was not renewed or released"
    );
}
