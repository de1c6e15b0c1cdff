//! Who owns, and who owned.

use tenure_testkit::servers::Redis;

use crate::support::{Home, ROW};

/// Notes when the row of `arguments[0]` first has the owner `arguments[1]`.
const NOTE: &str = "const [name, owner] = arguments;
    const look = () => {
        const row = [...document.querySelectorAll('.row')].find(row => row.dataset.name === name);
        if (window.noted || !row?.querySelector('.owner').innerText.startsWith(owner + '/')) return;
        window.noted = Date.now();
    };
    window.noted = 0;
    new MutationObserver(look).observe(document.getElementById('list'), { subtree: true, childList: true, characterData: true });";

#[test]
fn a_mutex_that_changes_hands_in_another_process_is_shown_within_a_second() {
    let redis = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", redis.address()));
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    let mut owner = home.owner("first", "billing");
    browser.shows("billing", "owner", "first");
    // A machine that stood still proves nothing; a page that is late is so every time.
    let mut taken = Vec::new();
    for round in 0..5 {
        let id = format!("next-{round}");
        let next = home.contender(&id, "billing");
        browser.shows("billing", "waiters", &id);
        browser.run(NOTE, &["billing", &id]);
        owner.release();
        let owned = next.owns();
        let noted = browser.until("the next owner is seen", "return window.noted", &[]);
        taken.push(noted.as_u64().unwrap().saturating_sub(owned));
        owner = next;
        if taken.last() < Some(&1000) {
            break;
        }
    }
    println!("shown after {taken:?} ms");
    assert!(taken.last() < Some(&1000), "{taken:?} ms");

    // Its history has both, and that it was handed on.
    browser.click(".row[data-name=billing] .name");
    let marks = "return document.querySelectorAll('#detail .mark-handed').length";
    browser.until("the hand-over is marked", marks, &[]);
    let history = browser.text("#detail-history table");
    assert!(
        history.contains("first") && history.contains("next-0"),
        "{history}"
    );
    browser.has_no_errors();
}

#[test]
fn an_owner_that_was_killed_is_followed_and_its_loss_is_marked() {
    let redis = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}?ttl=1s&transition=2s", redis.address()));
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    let mut owner = home.owner("victim", "report");
    browser.shows("report", "owner", "victim");
    // The bar moves by itself between two words of the server.
    let bar = format!("{ROW} return row?.querySelector('.bar i').style.transform");
    let before = browser.until("there is a bar", &bar, &["report"]);
    let moves =
        format!("{ROW} return row?.querySelector('.bar i').style.transform !== arguments[1]");
    browser.until(
        "the bar moves",
        &moves,
        &["report", before.as_str().unwrap()],
    );

    owner.kill();
    browser.shows("report", "owner", "free");
    browser.click(".row[data-name=report] .name");
    browser.until(
        "the loss is marked",
        "return document.querySelectorAll('#detail .mark-expired').length",
        &[],
    );
    browser.until(
        "the loss is told",
        "return document.querySelector('#detail-history table').innerText.includes('lost')",
        &[],
    );
    let next = home.owner("heir", "report");
    browser.shows("report", "owner", "heir");
    browser.until(
        "the detail follows",
        "return document.getElementById('detail-owner').innerText.startsWith('heir/')",
        &[],
    );
    next.release();
    browser.shows("report", "owner", "free");
    browser.has_no_errors();
}
