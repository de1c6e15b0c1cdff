//! Bidders that name their tokens by the clock of Redis as they reckon it.

use tenure_model::property::TOKENS_RISE;
use tenure_model::redis::Keys;
use tenure_model::rule::Rule;
use tenure_model::setting::Setting;
use tenure_model::words::PEER;

use crate::redis::{ASYNCHRONOUS, QUEUE};
use crate::{WORLD, broken, explored};

/// Two of them are named by the fence, too.
const RECKONED: Setting = Setting {
    unique: 2,
    reckons: true,
    ..WORLD
};

/// Fences are pruned, and requests come late.
const PRUNED: Setting = Setting {
    peer: Some(PEER),
    ..RECKONED
};

/// After a fail-over requests come late that were made before it.
const FAILED_OVER: Setting = Setting {
    lease: 1,
    unique: 3,
    reckons: true,
    writes: false,
    ..ASYNCHRONOUS
};

#[test]
fn tokens_rise_whoever_names_them_and_whatever_is_pruned() {
    let explored = explored::<Keys>("named tokens", PRUNED);
    assert!(explored.states > 50_000, "{explored:?}");
}

#[test]
fn tokens_rise_whoever_names_them_and_whoever_waits() {
    let setting = Setting {
        unique: 2,
        reckons: true,
        ..QUEUE
    };
    let explored = explored::<Keys>("named tokens, with the queue", setting);
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
fn tokens_rise_whoever_names_them_and_whatever_a_fail_over_forgets() {
    let explored = explored::<Keys>("named tokens, asynchronous replica", FAILED_OVER);
    assert!(explored.states > 200_000, "{explored:?}");
}

#[test]
fn a_take_that_comes_late_names_a_token_of_then() {
    let story = broken::<Keys>(Rule::NamedTokenNotCompared, TOKENS_RISE, RECKONED);
    assert!(
        story.contains("made at the time of token 1 arrives"),
        "{story}"
    );
}

#[test]
fn where_there_is_no_fence_nothing_shows_that_a_named_token_is_the_largest() {
    let story = broken::<Keys>(Rule::NamedWithoutAFence, TOKENS_RISE, PRUNED);
    assert!(story.contains("nobody uses is pruned"), "{story}");
}

#[test]
fn what_was_reckoned_before_a_fail_over_is_above_a_fence_that_fell_back() {
    let story = broken::<Keys>(Rule::ReckonedAcrossAFailOver, TOKENS_RISE, FAILED_OVER);
    assert!(story.contains("the replica becomes the master"), "{story}");
}
