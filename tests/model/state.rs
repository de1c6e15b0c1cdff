//! `MutexState`.

use proptest::prelude::*;
use tenure::model::{MutexOwner, MutexState};

use super::{at, config, id, owner, token};

#[test]
fn taking_a_free_mutex_is_an_acquisition() {
    let state = MutexState::new(MutexOwner::NONE, owner("a"));
    assert!(state.is_changed() && state.is_acquired(&id("a")) && state.is_owner(&id("a")));
    assert!(!state.is_released(&id("a")) && !state.is_acquired(&id("b")));
}

#[test]
fn giving_back_is_a_release() {
    let state = MutexState::new(owner("a"), MutexOwner::NONE);
    assert!(state.is_changed() && state.is_released(&id("a")));
    assert!(!state.is_owner(&id("a")) && !state.is_acquired(&id("a")));
    assert!(!state.is_released(&id("b")));
}

#[test]
fn a_take_over_releases_one_and_is_acquired_by_the_other() {
    let state = MutexState::new(owner("a"), owner("b"));
    assert!(state.is_released(&id("a")) && state.is_acquired(&id("b")));
    assert!(!state.is_owner(&id("a")) && state.is_owner(&id("b")));
}

#[test]
fn a_renewal_is_no_change() {
    let renewed = MutexOwner::new(id("a"), at(0), at(20_000), at(26_000));
    for (before, after) in [
        (owner("a"), renewed.clone()),
        (
            owner("a").with_token(token(1)),
            renewed.with_token(token(1)),
        ),
    ] {
        let state = MutexState::new(before, after);
        assert!(!state.is_changed());
        assert!(!state.is_acquired(&id("a")) && !state.is_released(&id("a")));
        assert!(state.is_owner(&id("a")), "it still owns");
    }
}

#[test]
fn another_known_token_of_the_same_id_is_a_change() {
    let grant = |number| owner("a").with_token(token(number));
    let state = MutexState::new(grant(1), grant(2));
    assert!(state.is_changed());
    assert!(state.is_acquired(&id("a")) && state.is_released(&id("a")));
}

#[test]
fn an_unknown_token_is_no_change() {
    let known = owner("a").with_token(token(1));
    assert!(!MutexState::new(owner("a"), known.clone()).is_changed());
    assert!(!MutexState::new(known, owner("a")).is_changed());
}

#[test]
fn a_new_tenure_under_the_same_id_is_told_in_two_states() {
    let first = MutexState::NONE.followed_by(owner("a").with_token(token(1)));
    let ended = first.followed_by(MutexOwner::NONE);
    let again = ended.followed_by(owner("a").with_token(token(2)));
    assert!(first.is_acquired(&id("a")));
    assert!(ended.is_released(&id("a")) && !ended.is_acquired(&id("a")));
    assert!(again.is_acquired(&id("a")) && !again.is_released(&id("a")));
}

#[test]
fn nobody_after_nobody_is_no_change() {
    assert_eq!(MutexState::NONE, MutexState::default());
    assert_eq!(MutexState::NONE.before, MutexOwner::NONE);
    assert_eq!(MutexState::NONE.after, MutexOwner::NONE);
    assert!(!MutexState::NONE.is_changed());
    let left_behind = |number| MutexOwner::NONE.with_token(token(number));
    assert!(!MutexState::new(left_behind(1), left_behind(2)).is_changed());
}

#[test]
fn being_in_ttl_is_being_the_owner_in_time() {
    let state = MutexState::new(owner("b"), owner("a"));
    assert!(state.is_in_ttl(&id("a"), at(9_999)));
    assert!(!state.is_in_ttl(&id("a"), at(10_000)));
    assert!(!state.is_in_ttl(&id("b"), at(1)));
}

/// None, or one of two ids with no token or one of two.
fn owners() -> impl Strategy<Value = MutexOwner> {
    (0..3_usize, prop::option::of(1_u64..3), 0_u64..3).prop_map(|(who, grant, time)| {
        let Some(who) = [None, Some("a"), Some("b")][who] else {
            return MutexOwner::NONE;
        };
        let owner = MutexOwner::new(id(who), at(time), at(time + 10), at(time + 16));
        grant.map_or(owner.clone(), |grant| owner.with_token(token(grant)))
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn predicates_follow_from_ids_and_tokens(before in owners(), after in owners()) {
        let state = MutexState::new(before.clone(), after.clone());
        let other_grant = before.token().zip(after.token()).is_some_and(|(b, a)| b != a);
        let changed = before.owner_id() != after.owner_id() || other_grant;
        prop_assert_eq!(state.is_changed(), changed);
        for who in [id("a"), id("b")] {
            prop_assert_eq!(state.is_acquired(&who), changed && after.is_owner(&who));
            prop_assert_eq!(state.is_released(&who), changed && before.is_owner(&who));
            prop_assert_eq!(state.is_owner(&who), after.is_owner(&who));
        }
        prop_assert_eq!(state.followed_by(before).before, after);
    }
}
