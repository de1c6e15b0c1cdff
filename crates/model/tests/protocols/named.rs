//! Contenders whose ids no other has, whom the fence of Redis names.

use tenure_model::explore::counterexample;
use tenure_model::property::{KEPT_IS_NO_GRANT, NEVER_TWO};
use tenure_model::redis::Keys;
use tenure_model::rule::Rule;
use tenure_model::setting::Setting;
use tenure_model::told::told;
use tenure_model::words::PEER;
use tenure_model::world::World;

use crate::redis::{ASYNCHRONOUS, CONFIRMING, QUEUE};
use crate::{WORLD, broken, explored};

/// All have ids of their own.
const NAMED: Setting = Setting { unique: 3, ..WORLD };

/// The same with the queue, and the server still counts among its listeners who has just won.
const LINE: Setting = Setting {
    unique: 3,
    lingers: true,
    ..QUEUE
};

#[test]
fn never_two_whom_the_fence_names() {
    let setting = Setting { late: 2, ..NAMED };
    let explored = explored::<Keys>("ids of their own", setting);
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
fn never_two_whom_the_fence_names_and_whoever_waits() {
    let setting = Setting { lease: 2, ..LINE };
    let explored = explored::<Keys>("ids of their own, with the queue", setting);
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
fn never_two_whom_the_fence_names_whoever_waits_and_whatever_is_late() {
    let setting = Setting { late: 2, ..LINE };
    let explored = explored::<Keys>("ids of their own, with the queue and two late", setting);
    assert!(explored.states > 1_000_000, "{explored:?}");
}

#[test]
fn never_two_beside_a_jvm_peer_and_where_fences_are_pruned() {
    for unique in [1, 2, 3] {
        let setting = Setting {
            unique,
            peer: Some(PEER),
            ..WORLD
        };
        let what = format!("{unique} of three have ids of their own, beside a JVM peer");
        let explored = explored::<Keys>(&what, setting);
        assert!(explored.states > 20_000, "{explored:?}");
    }
}

#[test]
fn never_two_beside_a_jvm_peer_whoever_waits() {
    for unique in [1, 2, 3] {
        let setting = Setting {
            unique,
            peer: Some(PEER),
            ..QUEUE
        };
        let what = format!("{unique} of three, beside a JVM peer, with the queue");
        let explored = explored::<Keys>(&what, setting);
        assert!(explored.states > 200_000, "{explored:?}");
    }
}

/// Which is why the grant of such a contender has a key of its own.
#[test]
fn never_two_where_a_jvm_peer_has_the_id_of_one_whom_the_fence_does_not_name() {
    let setting = Setting {
        peer: Some(0),
        ..WORLD
    };
    explored::<Keys>("a JVM peer with the id of one", setting);
    let setting = Setting {
        // A kept place is told from what the peer has by how long that lasts.
        lease: 2,
        peer: Some(0),
        ..QUEUE
    };
    let explored = explored::<Keys>("the same with the queue", setting);
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
fn two_for_at_most_a_lease_after_a_fail_over_though_the_fence_names_them() {
    let setting = Setting {
        lease: 1,
        late: 0,
        unique: 3,
        ..ASYNCHRONOUS
    };
    let explored = explored::<Keys>("ids of their own, asynchronous replica, writes", setting);
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
fn never_two_whom_the_fence_names_where_every_replica_must_confirm() {
    let setting = Setting {
        unique: 3,
        ..CONFIRMING
    };
    let explored = explored::<Keys>("ids of their own, wait_replicas", setting);
    assert!(explored.states > 100_000, "{explored:?}");
}

/// The fence goes on to name whose lease is over.
#[test]
fn a_late_release_that_does_not_look_at_the_owner_frees_what_a_jvm_peer_has() {
    let setting = Setting {
        peer: Some(PEER),
        ..NAMED
    };
    let story = broken::<Keys>(Rule::ProvenByTheFenceAlone, NEVER_TWO, setting);
    assert!(story.contains("the JVM peer takes"), "{story}");
}

#[test]
fn a_fence_that_names_an_id_of_a_jvm_peer_makes_a_grant_of_what_that_has() {
    let setting = Setting {
        peer: Some(0),
        ..WORLD
    };
    let story = broken::<Keys>(Rule::NamedThoughThePeerHasItsId, NEVER_TWO, setting);
    assert!(story.contains("found, token 1"), "{story}");
}

#[test]
fn one_that_stands_again_names_what_it_releases() {
    let story = broken::<Keys>(Rule::ReleasedByIdAlone, NEVER_TWO, NAMED);
    assert!(
        story.contains("release of token 1 arrives, late"),
        "{story}"
    );
}

#[test]
fn a_place_kept_for_whom_the_fence_names_seems_to_be_its_earlier_grant() {
    let story = broken::<Keys>(Rule::KeptUnderAnOldGrant, KEPT_IS_NO_GRANT, LINE);
    assert!(story.contains("kept for"), "{story}");
}

/// Found again, that grant is one beside the mark of a kept place, by which a bid of before
/// takes it over and gives it back.
#[test]
#[ignore = "twenty seconds: cargo test -p tenure-model -- --ignored"]
fn a_place_that_seems_to_be_a_grant_makes_two_owners() {
    let setting = Setting {
        late: 2,
        rule: Rule::KeptUnderAnOldGrant,
        ..LINE
    };
    let story = counterexample(World::<Keys>::new(setting), NEVER_TWO, told);
    println!("{story}");
    assert!(story.contains("hears: found, token 1"), "{story}");
}

/// A late take has put it into the queue once more, where it seems to listen.
#[test]
fn a_release_by_the_id_alone_may_give_on_a_kept_place() {
    let story = broken::<Keys>(Rule::GivenOnByIdAlone, KEPT_IS_NO_GRANT, LINE);
    assert!(story.contains("last release, by its id"), "{story}");
}
