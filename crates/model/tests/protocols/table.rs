//! A table that knows an id and a version, under three campaigns.

use tenure_model::property::NEVER_TWO;
use tenure_model::rule::Rule;
use tenure_model::setting::Setting;
use tenure_model::table::Row;

use crate::{WORLD, broken, explored};

#[test]
fn never_two_where_a_bid_is_told_by_its_id() {
    let setting = Setting { late: 2, ..WORLD };
    let explored = explored::<Row>("MySQL's table", setting);
    assert!(explored.states > 10_000, "{explored:?}");
}

#[test]
fn a_campaign_that_is_undone_late_frees_its_own_next_grant() {
    let story = broken::<Row>(Rule::UndoneByAnIdThatGoesOn, NEVER_TWO, WORLD);
    assert!(story.contains("stands again under its id, and will have its bid undone once more"));
    assert!(story.contains("undoing of bid 1 arrives, late"), "{story}");
}

#[test]
fn a_later_bid_does_not_find_its_earlier_grant() {
    let story = broken::<Row>(Rule::FoundThoughSeen, NEVER_TWO, WORLD);
    assert!(story.contains("found, token 1"), "{story}");
}
