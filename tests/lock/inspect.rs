//! What a coordinator tells a person, and how a deadline is passed on.

use std::time::Duration;

use tenure::backend::Page;
use tenure::{ErrorKind, LossCause, Revocation};
use tenure_testkit::fault::{Call, Fault};

use super::support::{World, terms};

#[tokio::test(start_paused = true)]
async fn everyone_sees_every_mutex_page_by_page() {
    let world = World::new();
    let (owner, person) = (world.coordinator(), world.coordinator());
    let one = owner.lock("a").unwrap().acquire().await.unwrap();
    let two = owner.lock("b").unwrap().acquire().await.unwrap();

    let first = person.list(&Page::first(1)).await.unwrap();
    assert_eq!(first.entries[0].name.as_str(), "a");
    assert!(
        first.entries[0]
            .owner
            .is_in_ttl_of(one.tenure().contender(), first.now)
    );
    let next = Page::first(1).after(first.next.unwrap());
    let second = person.list(&next).await.unwrap();
    assert_eq!(second.entries[0].token, two.token().ok());
    assert_eq!(second.next, None);
}

#[tokio::test(start_paused = true)]
async fn the_owner_comes_with_the_time_it_is_to_be_read_at() {
    let world = World::new();
    let (owner, person) = (world.coordinator(), world.coordinator());
    assert_eq!(person.owner("m").await.unwrap(), None);
    let guard = owner.lock("m").unwrap().acquire().await.unwrap();
    let seen = person.owner("m").await.unwrap().expect("an owner");
    assert!(seen.is(guard.tenure().contender()));
    assert_eq!(seen.token(), guard.token().ok());
    assert_eq!(seen.remaining(), Some(terms().lease()));
    tokio::time::advance(Duration::from_secs(1)).await;
    let seen = person.owner("m").await.unwrap().expect("an owner");
    assert_eq!(seen.owned_for(), Some(Duration::from_secs(1)));
    assert_eq!(
        seen.seen_at().since(seen.acquired_at().unwrap()),
        seen.owned_for().unwrap()
    );
    let error = person.owner(" m").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_owner_learns_of_it_at_its_next_renewal() {
    let world = World::new();
    let (owner, person) = (world.coordinator(), world.coordinator());
    let guard = owner.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();

    let other = token
        .handed_on()
        .and_then(|t| tenure::model::FencingToken::from_store(t.store() + 1).ok());
    let refused = person.revoke("m", other).await.unwrap();
    let Revocation::OwnedByAnother(owning) = refused else {
        panic!("the token named another: {refused:?}");
    };
    assert_eq!(owning.token(), Some(token));
    assert!(!guard.is_lost());
    let freed = person.revoke("m", Some(token)).await.unwrap();
    let Revocation::Freed(Some(freed)) = freed else {
        panic!("it was owned: {freed:?}");
    };
    assert!(freed.is(guard.tenure().contender()) && freed.token() == Some(token));
    for token in [None, Some(token)] {
        let again = person.revoke("m", token).await.unwrap();
        assert_eq!(again, Revocation::NobodyOwned);
    }
    assert_eq!(guard.lost().await.cause, LossCause::Taken);
    let next = person.lock("m").unwrap().acquire().await.unwrap();
    assert!(next.token().unwrap() > token);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_not_waited_for() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    for call in [Call::List, Call::Revoke, Call::Check] {
        faults.always(call, Fault::Hang);
    }
    let kind = |error: tenure::Error| error.kind();
    let page = Page::first(9);
    assert_eq!(
        coordinator.list(&page).await.unwrap_err().kind(),
        ErrorKind::Timeout
    );
    assert_eq!(
        coordinator
            .revoke("m", None)
            .await
            .map_err(kind)
            .unwrap_err(),
        ErrorKind::Timeout
    );
    assert_eq!(
        coordinator.check().await.map_err(kind).unwrap_err(),
        ErrorKind::Timeout
    );
}

#[tokio::test(start_paused = true)]
async fn after_close_nothing_is_answered() {
    let coordinator = World::new().coordinator();
    coordinator.close().await.unwrap();
    let closed = coordinator.list(&Page::first(9)).await.unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
    assert_eq!(
        coordinator.check().await.unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert_eq!(
        coordinator.owner("m").await.unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert_eq!(
        coordinator.revoke("m", None).await.unwrap_err().kind(),
        ErrorKind::Closed
    );
}

#[tokio::test(start_paused = true)]
async fn every_renewal_is_told_to_those_who_pass_the_deadline_on() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let tenure = guard.tenure().clone();
    let start = world.clock.now();
    let mut ends = Vec::new();
    for _ in 0..4 {
        let renewed = tenure.renewed();
        ends.push((world.clock.now() + tenure.remaining()).since(start));
        renewed.await.unwrap();
    }
    let apart = terms().renew_after();
    for pair in ends.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(
            gap >= apart - apart / 4 && gap <= apart + apart / 4,
            "{ends:?}"
        );
    }

    // A renewal between the call and the wait is not missed.
    let renewed = tenure.renewed();
    world
        .clock
        .sleep(terms().renew_after() + Duration::from_millis(1))
        .await;
    let before = world.clock.now();
    renewed.await.unwrap();
    assert_eq!(world.clock.now(), before);

    faults.always(Call::Renew, Fault::Hang);
    let lost = loop {
        if let Err(lost) = tenure.renewed().await {
            break lost;
        }
    };
    assert_eq!(lost.cause, LossCause::Deadline);
    assert_eq!(
        tenure.renewed().await.unwrap_err().cause,
        LossCause::Deadline
    );
}
