//! The store goes and comes; so does the dashboard itself.

use serde_json::json;
use tenure_testkit::servers::Redis;

use crate::support::Home;

const IS_OLD: &str = "return document.body.classList.contains('old')";
const IS_WELL: &str = "return !document.body.classList.contains('old') \
                       && document.getElementById('health').innerText === 'well'";

#[test]
fn a_store_that_is_stopped_leaves_what_was_last_seen_and_comes_back() {
    let redis = Redis::builder().durable().start().unwrap();
    let home = Home::at(format!(
        "redis://{}?ttl=20s&transition=20s",
        redis.address()
    ));
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    let _owner = home.owner("first", "billing");
    browser.shows("billing", "owner", "first");
    browser.until("all is well", IS_WELL, &[]);

    redis.stop().unwrap();
    browser.until("the page says that it is old", IS_OLD, &[]);
    browser.until(
        "its age is told, and it rises",
        "return / [1-9]\\d* s ago/.test(document.getElementById('notice').innerText)",
        &[],
    );
    let notice = browser.text("#notice");
    assert!(notice.contains("last seen at"), "{notice}");
    browser.shows("billing", "owner", "first");
    let left = ".row .left";
    let stood = browser.text(left);
    browser.until(
        "time passes",
        "return (window.n = (window.n || 0) + 1) > 20",
        &[],
    );
    assert_eq!(browser.text(left), stood, "what is old stands still");
    browser.picture("store-down");

    redis.start().unwrap();
    browser.until("the store is well again", IS_WELL, &[]);
    assert_eq!(
        browser.run("return document.getElementById('notice').hidden", &[]),
        json!(true)
    );
    let second = home.owner("second", "other");
    browser.shows("other", "owner", "second");
    second.release();
    browser.has_no_errors();
}

#[test]
fn a_dashboard_that_was_restarted_is_found_again() {
    let home = Home::new();
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    let _owner = home.owner("first", "billing");
    browser.shows("billing", "owner", "first");
    let address = dashboard.address().to_owned();
    drop(dashboard);
    browser.until("the page says that it is old", IS_OLD, &[]);
    let _again = home.dashboard_at(&address, &[]);
    browser.until("the page is live again", IS_WELL, &[]);
    let _second = home.owner("second", "other");
    browser.shows("other", "owner", "second");
    browser.has_no_errors();
}

#[test]
fn a_dashboard_that_stands_still_is_not_taken_for_a_live_one() {
    let home = Home::new();
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    let _owner = home.owner("first", "billing");
    browser.shows("billing", "owner", "first");
    browser.until("all is well", IS_WELL, &[]);
    // Its connections stay open, and nothing comes.
    dashboard.signal("-STOP");
    browser.until("the page says that it is old", IS_OLD, &[]);
    let notice = browser.text("#notice");
    assert!(notice.contains("does not answer"), "{notice}");
    dashboard.signal("-CONT");
    browser.until("the page is live again", IS_WELL, &[]);
    browser.has_no_errors();
}
