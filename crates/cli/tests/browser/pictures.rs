//! What the page looks like, for people to look at: `target/browser`.

use std::process::Stdio;

use serde_json::json;
use tenure_testkit::servers::Redis;

use crate::kinds::Holds;
use crate::support::{Home, Started};

/// A small fleet: locks, waiters, leaders, schedules.
fn fleet(home: &Home) -> Vec<Started> {
    let run = |id: &str, words: &[&str]| {
        let mut command = home.tenure(&["--id", id]);
        command
            .args(words)
            .stdin(Stdio::piped())
            .stderr(Stdio::null());
        Started(command.stdout(Stdio::null()).spawn().unwrap())
    };
    let mut all = Vec::new();
    for (name, ids) in [
        ("order-settlement", &["web-01", "web-04", "web-07"][..]),
        ("migrate-schema", &["deploy-eu-1", "deploy-eu-2"]),
        ("nightly-report", &["batch-03"]),
        ("account:4711", &["web-02"]),
        ("cache-warm-eu-west", &["web-05"]),
    ] {
        all.extend(ids.iter().map(|id| run(id, &["run", name, "--", "cat"])));
    }
    for (name, ids) in [
        ("billing", &["web-01", "web-02", "web-03"][..]),
        ("search-indexer", &["index-1", "index-2"]),
    ] {
        all.extend(ids.iter().map(|id| run(id, &["lead", name, "--", "cat"])));
    }
    for (name, every, command) in [
        ("sweep-uploads", "2s", "true"),
        (
            "rotate-keys",
            "3s",
            "case $(date +%S) in *[37]) false;; esac",
        ),
        ("send-digest", "10m", "true"),
    ] {
        let words = [
            "schedule", name, "--every", every, "--", "sh", "-c", command,
        ];
        all.push(run("batch-01", &words));
    }
    all
}

#[test]
fn pictures_of_the_page_wide_and_narrow_light_and_dark() {
    let redis = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", redis.address()));
    let dashboard = home.dashboard(&["--allow-revoke"]);
    let browser = dashboard.open();
    browser.until(
        "it says that there is nothing",
        "return !document.getElementById('empty').hidden",
        &[],
    );
    browser.picture("empty");
    let _fleet = fleet(&home);
    let second = Redis::start().unwrap();
    let _holds = Holds::take([&redis, &second], "stock-import", "ledger-transfer");
    browser.until(
        "all are there",
        "return document.querySelectorAll('.row').length >= 12",
        &[],
    );
    let runs = "return document.querySelectorAll('.runs i.done').length >= 6";
    browser.until("schedules have run", runs, &[]);
    for (name, is_dark) in [("light", false), ("dark", true)] {
        browser.dark(is_dark);
        for width in [1280, 390] {
            browser.size(width, if width == 390 { 844 } else { 800 });
            browser.run("scrollTo(0, 0); document.activeElement.blur()", &[]);
            let fits = "return document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(browser.run(fits, &[]), json!(true), "wider than {width}");
            browser.picture(&format!("{width}-{name}"));
        }
        browser.run("location.hash = 'order-settlement'", &[]);
        let is_told = "return document.querySelectorAll('#detail-history tbody tr').length";
        browser.until("the history is there", is_told, &[]);
        browser.picture(&format!("detail-390-{name}"));
        browser.size(1280, 800);
        browser.picture(&format!("detail-1280-{name}"));
        browser.run("document.getElementById('close').click()", &[]);
        browser.click("[data-kind=schedule]");
        browser.until(
            "schedules are shown",
            "return document.querySelectorAll('.row').length === 3",
            &[],
        );
        browser.picture(&format!("schedules-1280-{name}"));
        browser.size(390, 844);
        browser.picture(&format!("schedules-390-{name}"));
        browser.size(1280, 800);
        browser.click("[data-kind='']");
    }
    browser.has_no_errors();
}
