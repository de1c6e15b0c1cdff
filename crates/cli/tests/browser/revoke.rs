//! Taking a mutex from its owner.

use serde_json::json;

use crate::support::Home;

const CAN_GO: &str = "return !document.getElementById('revoking-go').disabled";

#[test]
fn a_mutex_is_revoked_only_after_its_name_was_typed() {
    let home = Home::new();
    let dashboard = home.dashboard(&["--allow-revoke"]);
    let browser = dashboard.open();
    let _owner = home.owner("stuck", "deploy");
    browser.shows("deploy", "owner", "stuck");
    browser.click(".row[data-name=deploy] .name");
    browser.until(
        "it can be revoked",
        "return !document.getElementById('detail-revoke').hidden",
        &[],
    );
    browser.click("#revoke");
    assert_eq!(browser.run(CAN_GO, &[]), json!(false));
    browser.types("deplo");
    assert_eq!(browser.run(CAN_GO, &[]), json!(false));
    browser.types("y");
    assert_eq!(browser.run(CAN_GO, &[]), json!(true));
    browser.picture("revoke");
    browser.click("#revoking-go");
    browser.until(
        "the dialog closes",
        "return !document.getElementById('revoking').open",
        &[],
    );
    browser.shows("deploy", "owner", "free");
    browser.until(
        "the revocation is marked",
        "return document.querySelectorAll('#detail .mark-revoked').length",
        &[],
    );
    browser.has_no_errors();
}

#[test]
fn who_is_not_allowed_to_revoke_has_no_button_for_it() {
    let home = Home::new();
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    let _owner = home.owner("first", "deploy");
    browser.shows("deploy", "owner", "first");
    browser.click(".row[data-name=deploy] .name");
    let is_open = "return document.getElementById('detail-owner')?.innerText.startsWith('first/')";
    browser.until("the detail is open", is_open, &[]);
    let is_hidden = "return document.getElementById('detail-revoke').hidden";
    assert_eq!(browser.run(is_hidden, &[]), json!(true));
}
