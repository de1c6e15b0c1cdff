use super::*;
use crate::model::LeaseTerms;

fn at(seconds: u64) -> Moment {
    Moment::from_nanos(seconds * 1_000_000_000)
}

fn bid(name: &str) -> Bid {
    let name = MutexName::new(name).unwrap();
    let contender = ContenderId::new("waiter").unwrap();
    Bid::new(name, contender, LeaseTerms::default())
}

#[test]
fn a_waiter_that_never_asks_again_is_looked_for() {
    let (places, bid) = (BidPlaces::default(), bid("m"));
    places.begin(&bid, 1, at(0));
    places.standing(bid.nonce, 1, at(10));
    assert_eq!(places.next_over(), Some(at(40)));
    assert!(places.silent(at(39)).is_empty());
    assert_eq!(places.silent(at(40)).len(), 1);
    // It is there, and looks seldom.
    places.is_heard(bid.nonce, at(40));
    assert!(!places.abandon(bid.nonce, at(40)));
    assert!(places.silent(at(69)).is_empty());
    // It is not there.
    assert!(places.abandon(bid.nonce, at(70)));
    assert!(places.silent(at(70)).is_empty());
    assert_eq!(places.over(at(71)).len(), 1);
    let standing = places.standing(bid.nonce, 1, at(71));
    assert!(matches!(standing, Standing::Over(None)), "{standing:?}");
    assert!(places.grant(bid.nonce, 1, at(90)).is_none(), "it was left");
}

#[test]
fn an_owner_need_not_ask() {
    let (places, bid) = (BidPlaces::default(), bid("m"));
    places.begin(&bid, 1, at(0));
    let node = Node {
        child: "c".to_owned(),
        token: FencingToken::from_store(1).unwrap(),
        created_at: StoreTime::from_millis(0),
    };
    assert!(places.created(bid.nonce, 1, node));
    assert!(places.grant(bid.nonce, 1, at(100)).is_some());
    assert!(places.silent(at(90)).is_empty());
    assert!(!places.abandon(bid.nonce, at(90)));
    assert_eq!(places.next_over(), Some(at(100)));
}

#[test]
fn what_is_begun_anew_does_not_go_with_what_was_left() {
    let (places, bid) = (BidPlaces::default(), bid("m"));
    let left = places.begin(&bid, 1, at(0));
    assert!(places.abandon(bid.nonce, at(40)));
    let over = places.over(at(42)).remove(0);
    assert_eq!(over.number, left);
    // It was not gone, and asks again before the cleanup has come.
    let again = places.begin(&bid, 1, at(43));
    places.forget_place(over.nonce, over.number);
    assert_eq!(places.number(bid.nonce), Some(again));
    places.forget_place(bid.nonce, again);
    assert_eq!(places.number(bid.nonce), None);
}

#[test]
fn a_session_that_is_given_up_grants_nothing_and_tells_until_when_it_is_believed() {
    let (places, owner, late) = (BidPlaces::default(), bid("owned"), bid("late"));
    let node = Node {
        child: "c".to_owned(),
        token: FencingToken::from_store(1).unwrap(),
        created_at: StoreTime::from_millis(0),
    };
    for bid in [&owner, &late] {
        places.begin(bid, 1, at(0));
        assert!(places.created(bid.nonce, 1, node.clone()));
    }
    assert!(places.grant(owner.nonce, 1, at(50)).is_some());
    assert_eq!(places.forget_session(1), Some(at(50)));
    assert_eq!(places.forget_session(1), None);
    // A call that was under way goes on in it.
    places.begin(&late, 1, at(10));
    assert!(places.created(late.nonce, 1, node.clone()));
    assert!(places.grant(late.nonce, 1, at(60)).is_none());
    places.begin(&late, 2, at(10));
    assert!(places.created(late.nonce, 2, node));
    assert!(places.grant(late.nonce, 2, at(60)).is_some());
}
