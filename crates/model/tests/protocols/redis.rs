//! The scripts of Redis under three contenders.

use tenure_model::property::{NEVER_TWO, NO_STALE_WRITE, TOKENS_RISE};
use tenure_model::redis::Keys;
use tenure_model::rule::Rule;
use tenure_model::setting::{Replicas, Setting};

use crate::{WORLD, broken, explored};

/// The queue, and leases that last as long as a kept place.
pub(crate) const QUEUE: Setting = Setting {
    lease: 1,
    queues: true,
    ..WORLD
};

pub(crate) const ASYNCHRONOUS: Setting = Setting {
    replicas: Replicas::Asynchronous,
    writes: true,
    ..WORLD
};

pub(crate) const CONFIRMING: Setting = Setting {
    replicas: Replicas::Confirming,
    ..WORLD
};

#[test]
fn never_two_whatever_is_late_or_lost() {
    let setting = Setting { late: 2, ..WORLD };
    let explored = explored::<Keys>("Redis", setting);
    assert!(explored.states > 40_000, "{explored:?}");
}

#[test]
fn never_two_whatever_is_late_or_lost_and_whoever_waits() {
    let setting = Setting { late: 2, ..QUEUE };
    let explored = explored::<Keys>("Redis, with its queue", setting);
    assert!(explored.states > 200_000, "{explored:?}");
}

#[test]
fn never_two_though_one_is_told_that_does_not_wait_any_more() {
    let setting = Setting {
        lease: 2,
        lingers: true,
        ..QUEUE
    };
    let explored = explored::<Keys>("Redis, with its queue, left late", setting);
    assert!(explored.states > 50_000, "{explored:?}");
}

#[test]
fn after_a_fail_over_two_for_at_most_a_lease_and_tokens_rise() {
    let setting = Setting {
        writes: false,
        ..ASYNCHRONOUS
    };
    let explored = explored::<Keys>("Redis, asynchronous replica", setting);
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
fn after_a_fail_over_a_fenced_register_takes_no_stale_write() {
    let setting = Setting {
        lease: 1,
        // Nothing is late, only lost: writes have states enough of their own.
        late: 0,
        ..ASYNCHRONOUS
    };
    let explored = explored::<Keys>("Redis, asynchronous replica, writes", setting);
    assert!(explored.states > 50_000, "{explored:?}");
}

#[test]
fn never_two_where_every_replica_must_confirm() {
    let explored = explored::<Keys>("Redis, wait_replicas", CONFIRMING);
    assert!(explored.states > 50_000, "{explored:?}");
}

#[test]
fn a_place_that_is_given_up_late_frees_what_the_bid_has_won_since() {
    let story = broken::<Keys>(Rule::PlaceGivenUpByItsNonce, NEVER_TWO, QUEUE);
    assert!(story.contains("is answered by an error"), "{story}");
    assert!(story.contains("undoing of bid 1 arrives, late"), "{story}");
}

#[test]
fn what_too_few_replicas_confirmed_is_undone_under_the_next_attempt() {
    let story = broken::<Keys>(Rule::UndoneInsideTheBid, NEVER_TWO, CONFIRMING);
    assert!(story.contains("undoing of bid 1 arrives, late"), "{story}");
}

#[test]
fn a_found_grant_that_is_not_written_again_is_on_no_replica() {
    let story = broken::<Keys>(Rule::FoundWithoutAWrite, NEVER_TWO, CONFIRMING);
    assert!(story.contains("found, token 1"), "{story}");
    assert!(story.contains("the replica becomes the master"), "{story}");
}

#[test]
fn a_fence_that_is_lost_counts_the_same_tokens_again() {
    let rule = Rule::TokensByTheFenceAlone;
    broken::<Keys>(rule, TOKENS_RISE, ASYNCHRONOUS);
    let story = broken::<Keys>(rule, NO_STALE_WRITE, ASYNCHRONOUS);
    assert!(story.contains("the replica becomes the master"), "{story}");
}

#[test]
fn a_lease_that_is_counted_from_its_answer_is_too_long() {
    broken::<Keys>(Rule::CountedFromTheAnswer, NEVER_TWO, WORLD);
}

#[test]
fn a_release_by_id_alone_frees_the_next_grant() {
    broken::<Keys>(Rule::ReleasedByIdAlone, NEVER_TWO, WORLD);
}
