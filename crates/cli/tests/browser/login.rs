//! A dashboard with a token, in a browser that does not know it yet.

use std::fs;

use crate::support::Home;

#[test]
fn who_has_to_log_in_is_led_to_the_form_and_back() {
    let home = Home::new();
    fs::write(home.path("token"), "correct horse battery staple\n").unwrap();
    let _owner = home.owner("first", "deploy");
    let file = home.path("token");
    let dashboard = home.dashboard(&["--token-file", file.to_str().unwrap()]);
    let browser = dashboard.open();
    let at = "return location.pathname === arguments[0]";
    browser.until("the form is there", at, &["/login"]);
    browser.picture("login");
    browser.click("#token");
    browser.types("wrong\u{e007}");
    let refused = "return document.querySelector('[role=alert]').innerText";
    browser.until("a wrong token is refused", refused, &[]);
    browser.click("#token");
    browser.types("correct horse battery staple\u{e007}");
    browser.until("the page is there", at, &["/"]);
    browser.shows("deploy", "owner", "first");

    // A login that is over while the page is open: whatever it asks next leads to the form.
    browser.forget_cookies();
    browser.run("location.hash = 'deploy'", &[]);
    browser.until("the form is there again", at, &["/login"]);
}
