//! How the values look in JSON.

use proptest::prelude::*;
use serde_json::{from_value, json, to_value};
use tenure::LossCause;
use tenure::model::{ContenderId, FencingToken, MutexName, MutexOwner, MutexState, StoreTime};

use super::{at, config, id, name, owner, token};

/// Checks that a value looks like this in JSON and comes back from it.
macro_rules! assert_json {
    ($value:expr, $json:expr) => {{
        let (value, json) = ($value, $json);
        assert_eq!(to_value(&value).unwrap(), json);
        let mut back = value.clone();
        back.clone_from(&from_value(json).unwrap());
        assert_eq!(back, value);
    }};
}

#[test]
fn names_ids_and_causes_are_strings() {
    assert_json!(name("a \"b\""), json!("a \"b\""));
    assert_json!(id("0:1@h"), json!("0:1@h"));
    assert_json!(LossCause::Deadline, json!("Deadline"));
}

#[test]
fn times_are_numbers() {
    assert_json!(at(1_700_000_000_000), json!(1_700_000_000_000_u64));
}

#[test]
fn a_token_is_a_string_because_it_exceeds_two_to_the_53rd() {
    assert_json!(token(7), json!("7168"));
    let largest = FencingToken::from_value((1 << 63) - 1).unwrap();
    assert_json!(largest, json!("9223372036854775807"));
    assert!(from_value::<FencingToken>(json!(7168)).is_err());
}

#[test]
fn an_owner_shows_what_is_known() {
    assert_json!(
        owner("a").with_token(token(7)),
        json!({
            "owner_id": "a", "acquired_at": 0, "ttl_at": 10_000, "transition_at": 16_000,
            "token": "7168",
        })
    );
    assert_json!(
        MutexOwner::foreign(id("b")).owning_until(at(9)),
        json!({
            "owner_id": "b", "acquired_at": null, "ttl_at": null, "transition_at": 9,
            "token": null,
        })
    );
    assert_json!(
        MutexOwner::NONE,
        json!({
            "owner_id": null, "acquired_at": 0, "ttl_at": 0, "transition_at": 0, "token": null,
        })
    );
}

#[test]
fn a_state_is_before_and_after() {
    let state = MutexState::NONE.followed_by(owner("a"));
    assert_json!(
        state.clone(),
        json!({ "before": to_value(&state.before).unwrap(), "after": to_value(&state.after).unwrap() })
    );
    assert_eq!(
        from_value::<MutexState>(to_value(MutexState::NONE).unwrap()).unwrap(),
        MutexState::NONE
    );
}

#[test]
fn what_a_constructor_refuses_does_not_come_in_as_json() {
    let error = from_value::<MutexName>(json!(" a")).unwrap_err();
    assert!(error.to_string().contains("white space"), "{error}");
    assert!(from_value::<ContenderId>(json!("a@@b")).is_err());
    assert!(from_value::<FencingToken>(json!("9223372036854775808")).is_err());
    assert!(from_value::<FencingToken>(json!("-1")).is_err());
    assert!(from_value::<StoreTime>(json!(-1)).is_err());
    let mut bad = to_value(owner("a")).unwrap();
    bad["owner_id"] = json!("");
    assert!(from_value::<MutexOwner>(bad).is_err());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_value_comes_back_from_text(
        who in "[a-z\"\\\\锁]{1,20}", times in any::<[u64; 3]>(), number in 0_u64..1 << 63,
    ) {
        let token = FencingToken::from_value(number).unwrap();
        let after = MutexOwner::new(id(&who), at(times[0]), at(times[1]), at(times[2]));
        let state = MutexState::new(MutexOwner::foreign(id(&who)), after.with_token(token));
        let text = serde_json::to_string(&state).unwrap();
        prop_assert_eq!(serde_json::from_str::<MutexState>(&text).unwrap(), state);
        // Also through a reader, which cannot lend its text.
        let text = serde_json::to_vec(&name(&who)).unwrap();
        prop_assert_eq!(serde_json::from_reader::<_, MutexName>(&text[..]).unwrap(), name(&who));
    }
}
