//! What mutexes are wanted for: locks, leaders, schedules and the others apart.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tenure::{CombinationGuard, CombinationLock, Coordinator, Holder, ReentrantGuard};
use tenure_testkit::servers::Redis;

use crate::support::{Home, ROW, Started};

/// A reentrant and a combination lock, held by this process. What is dropped last
/// comes last.
pub(crate) struct Holds {
    _guards: (ReentrantGuard, CombinationGuard),
    _coordinator: Coordinator,
    _runtime: tokio::runtime::Runtime,
}

impl Holds {
    /// The reentrant lock on the first server, the other on both.
    pub(crate) fn take(servers: [&Redis; 2], reentrant: &str, combination: &str) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let urls = servers.map(|server| format!("redis://{}", server.address()));
        let holder = Holder::new("import");
        let (coordinator, guards) = runtime.block_on(async {
            let coordinator = Coordinator::connect(&urls[0]).await.unwrap();
            let lock = coordinator.reentrant_lock(reentrant).unwrap();
            let one = lock.held_by(&holder).acquire().await.unwrap();
            let nodes = CombinationLock::builder()
                .nodes(urls)
                .command_timeout(Duration::from_secs(1))
                .expiry(Duration::from_secs(60))
                .durable_nodes(true);
            let lock = nodes.build(combination).await.unwrap();
            let other = lock.held_by(&holder).acquire().await.unwrap();
            (coordinator, (one, other))
        });
        Self {
            _guards: guards,
            _coordinator: coordinator,
            _runtime: runtime,
        }
    }
}

#[test]
fn each_kind_has_a_tab_with_its_number_and_says_what_it_is() {
    let (redis, second) = (Redis::start().unwrap(), Redis::start().unwrap());
    let home = Home::at(format!("redis://{}", redis.address()));
    let _owner = home.owner("web-01", "nightly-report");
    let mut lead = home.tenure(&["--id", "web-02", "lead", "billing", "--", "cat"]);
    let lead = lead.stdin(Stdio::piped()).stdout(Stdio::null());
    let lead = Started(lead.spawn().unwrap());
    home.schedule_once("tidy");
    let _holds = Holds::take([&redis, &second], "stock", "transfer");
    // As a JVM peer does, which says nothing.
    let words = ["SET", "simba:{legacy}", "0:1@10.0.0.7", "PX", "600000"];
    redis.command(&words).unwrap();

    let dashboard = home.dashboard(&["--allow-revoke"]);
    let browser = dashboard.open();
    let rows = "return document.querySelectorAll('.row').length === Number(arguments[0])";
    let tab = |kind: &str| format!("#tabs [data-kind='{kind}']");
    browser.until("all are there", rows, &["6"]);
    for (kind, name, label) in [
        ("lock", "nightly-report", "Locks"),
        ("leader", "billing", "Leaders"),
        ("schedule", "tidy", "Schedules"),
        ("reentrant", "stock", "Reentrant"),
        ("combination", "transfer", "Combination"),
        ("unknown", "legacy", "Unknown"),
    ] {
        let is_so = format!("{ROW} return row?.dataset.kind === arguments[1]");
        browser.until("the row says what it is", &is_so, &[name, kind]);
        let chip = if kind == "unknown" { "" } else { kind };
        browser.shows(name, "kind", chip);
        let text = browser.text(&tab(kind));
        assert_eq!(text.replace(char::is_whitespace, ""), format!("{label}1"));
        browser.click(&tab(kind));
        browser.until("only it is shown", rows, &["1"]);
        browser.until("it is shown", &is_so, &[name, kind]);
        browser.run("location.hash = arguments[0]", &[name]);
        let detail = "return document.getElementById('detail-name').innerText === arguments[0] \
                      && document.querySelector('#detail .kind').innerText === arguments[1]";
        browser.until("the detail says it too", detail, &[name, chip]);
        // What lies in the layout of reentrant locks is not revoked here.
        let can_revoke = "return !document.getElementById('detail-revoke').hidden";
        let is_owned = !matches!(kind, "schedule" | "reentrant" | "combination");
        browser.until(
            "it can be revoked, or not",
            &format!("{can_revoke} === {is_owned}"),
            &[],
        );
        browser.run("document.getElementById('close').click()", &[]);
        browser.click(&tab(""));
    }
    let services = "return document.querySelector(\"[data-kind='service']\").hidden";
    assert_eq!(browser.run(services, &[]), json!(true), "there are none");

    // The office is free, and is still that of a leader.
    drop(lead);
    redis.command(&["DEL", "simba:{billing}"]).unwrap();
    browser.shows("billing", "owner", "free");
    browser.shows("billing", "kind", "leader");
    browser.has_no_errors();
}
