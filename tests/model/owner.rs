//! `MutexOwner`, against the formulas that JVM peers use.

use std::time::Duration;

use proptest::prelude::*;
use tenure::model::MutexOwner;

use super::{at, config, id, owner, token};

#[test]
fn an_owner_keeps_what_it_is_given() {
    let owner = MutexOwner::new(id("a"), at(1), at(2), at(3)).with_token(token(4));
    assert_eq!(owner.owner_id(), Some(&id("a")));
    assert_eq!(owner.acquired_at(), Some(at(1)));
    assert_eq!(owner.ttl_at(), Some(at(2)));
    assert_eq!(owner.transition_at(), Some(at(3)));
    assert_eq!(owner.token(), Some(token(4)));
}

#[test]
fn the_ttl_ends_at_ttl_at() {
    let owner = owner("a");
    assert!(owner.is_in_ttl(at(9_999)));
    assert!(!owner.is_in_ttl(at(10_000)));
}

#[test]
fn the_transition_ends_after_transition_at() {
    let owner = owner("a");
    assert!(owner.is_in_transition(at(16_000)) && owner.has_owner(at(16_000)));
    assert!(!owner.is_in_transition(at(16_001)) && !owner.has_owner(at(16_001)));
}

#[test]
fn predicates_of_an_id_are_about_that_id() {
    let owner = owner("a");
    let (a, b) = (id("a"), id("b"));
    assert!(owner.is_owner(&a) && !owner.is_owner(&b));
    assert!(owner.is_in_ttl_of(&a, at(9_999)) && !owner.is_in_ttl_of(&b, at(9_999)));
    assert!(!owner.is_in_ttl_of(&a, at(10_000)));
    assert!(owner.is_in_transition_of(&a, at(16_000)));
    assert!(!owner.is_in_transition_of(&b, at(16_000)));
    assert!(!owner.is_in_transition_of(&a, at(16_001)));
}

#[test]
fn an_owner_is_the_owner_even_after_its_time() {
    assert!(owner("a").is_owner(&id("a")));
    assert!(!owner("a").has_owner(at(1_000_000)));
}

#[test]
fn nobody_has_no_id_and_every_time_zero() {
    let none = MutexOwner::NONE;
    assert_eq!(none, MutexOwner::default());
    assert_eq!(none.owner_id(), None);
    assert_eq!(none.token(), None);
    for time in [none.acquired_at(), none.ttl_at(), none.transition_at()] {
        assert_eq!(time, Some(at(0)));
    }
}

#[test]
fn nobody_owns_at_no_time_not_even_at_zero() {
    for now in [0, 1, u64::MAX] {
        let none = MutexOwner::NONE;
        assert!(!none.is_in_ttl(at(now)) && !none.is_in_transition(at(now)));
        assert!(!none.has_owner(at(now)) && !none.is_owner(&id("a")));
        assert_eq!(none.remaining(at(now)), Some(Duration::ZERO));
    }
}

#[test]
fn an_owner_whose_end_is_unknown_owns_as_long_as_the_store_names_it() {
    let owner = MutexOwner::foreign(id("a"));
    assert_eq!(owner.acquired_at(), None);
    assert_eq!(owner.ttl_at(), None);
    assert_eq!(owner.transition_at(), None);
    assert_eq!(owner.remaining(at(5)), None);
    for now in [0, u64::MAX] {
        assert!(owner.is_in_ttl(at(now)) && owner.has_owner(at(now)));
        assert!(owner.is_in_transition_of(&id("a"), at(now)));
    }
}

#[test]
fn the_known_parts_of_a_foreign_owner_count() {
    let owner = MutexOwner::foreign(id("a"))
        .acquired_since(at(3))
        .owning_until(at(9));
    assert_eq!(owner.acquired_at(), Some(at(3)));
    assert!(owner.has_owner(at(9)) && !owner.has_owner(at(10)));
    assert_eq!(owner.remaining(at(4)), Some(Duration::from_millis(5)));
    assert_eq!(owner.remaining(at(10)), Some(Duration::ZERO));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn predicates_follow_the_formulas(
        ttl_at in 0_u64..50, transition in 0_u64..50, now in 0_u64..120, mine in any::<bool>(),
    ) {
        let transition_at = ttl_at + transition;
        let owner = MutexOwner::new(id("a"), at(0), at(ttl_at), at(transition_at));
        let asked = id(if mine { "a" } else { "b" });
        prop_assert_eq!(owner.is_in_ttl(at(now)), ttl_at > now);
        prop_assert_eq!(owner.is_in_transition(at(now)), transition_at >= now);
        prop_assert_eq!(owner.has_owner(at(now)), transition_at >= now);
        prop_assert_eq!(owner.is_owner(&asked), mine);
        prop_assert_eq!(owner.is_in_ttl_of(&asked, at(now)), mine && ttl_at > now);
        prop_assert_eq!(owner.is_in_transition_of(&asked, at(now)), mine && transition_at >= now);
        let remaining = Duration::from_millis(transition_at.saturating_sub(now));
        prop_assert_eq!(owner.remaining(at(now)), Some(remaining));
    }
}
