//! The permissions that the documentation prints are enough, and what happens
//! without them.

use std::time::Duration;

use tenure::backend::{Backend, Severity};
use tenure::{ErrorKind, Outcome, Retry};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{Redis, wait};

use crate::permits::{granted, is_enough_for_all, is_enough_for_locks, lines, nothing_denied};
use crate::support::{bid, calls, eventually, held, long, lose, name, open, try_open, win};

const DOCS: &str = include_str!("../../docs/stores/redis.md");

/// What locks need.
fn printed(rest: &str) -> String {
    lines(&format!("redis://tenure@host{rest}")).remove(0)
}

fn server(user: &str) -> Redis {
    granted(Redis::builder(), user).start().unwrap()
}

fn url(server: &Redis, rest: &str) -> String {
    format!("redis://tenure:secret@127.0.0.1:{}{rest}", server.port())
}

#[test]
fn the_documentation_prints_what_init_prints() {
    let mut seen = Vec::new();
    let (mut url, mut rest) = ("", Vec::new());
    let block = DOCS.split("```acl\n").nth(1).unwrap();
    for line in block.split("```").next().unwrap().lines() {
        if let Some(next) = line.strip_prefix("# ") {
            url = next;
            rest = lines(url);
            seen.push(url);
            continue;
        }
        assert!(!rest.is_empty(), "{url}: more lines than it needs");
        assert_eq!(line, rest.remove(0), "{url}");
    }
    for part in [
        "prefix=",
        "/3",
        "wait_replicas",
        "restart_grace",
        "sentinel",
        "cluster",
    ] {
        assert!(
            seen.iter().any(|url| url.contains(part)),
            "{part}: {seen:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_printed_permissions_are_enough() {
    let first = server(&printed(""));
    // The only thing that is asked beyond them is INFO, which may be denied.
    let info = |way| first.command(&["ACL", "SETUSER", "tenure", way]).unwrap();
    info("+info");
    is_enough_for_locks(&url(&first, ""), &first).await;
    nothing_denied(&first);
    info("-info");
    open(&url(&first, "")).await;
    let other = server(&lines("redis://tenure@host/3").remove(1));
    is_enough_for_all(&url(&other, "/3"), &other).await;
    nothing_denied(&other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_prefix_has_its_own_permissions() {
    // Nothing in it is a pattern.
    let odd = "?prefix=a*%22p:";
    for (rest, begin) in [("?prefix=app:", "app:"), (odd, "a*\"p:")] {
        let server = server(&printed(rest));
        let info = ["ACL", "SETUSER", "tenure", "+info"];
        server.command(&info).unwrap();
        is_enough_for_locks(&url(&server, rest), &server).await;
        nothing_denied(&server);
        let keys = server.command(&["KEYS", "*"]).unwrap();
        let ours = format!("{begin}{{m}}");
        assert!(keys.lines().all(|key| key.starts_with(&ours)), "{keys}");
        for strange in ["", "?prefix=axp:"] {
            let strange = open(&url(&server, strange)).await;
            let tried = strange.acquire(&bid(&name("m"), "a", long())).await;
            let error = tried.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_replicas_and_for_old_age_have_their_permissions() {
    let user = printed("?wait_replicas=1&restart_grace=on");
    let master = server(&user);
    let replica = Redis::builder().replica_of(&master).start().unwrap();
    wait::until_true("a replica in step", || {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| info.contains("master_link_status:up"))
    })
    .unwrap();
    let client = open(&url(&master, "?wait_replicas=1&restart_grace=on")).await;
    let mine = bid(&name("m"), "a", crate::support::terms(1_000, 1_000));
    let grant = eventually("a confirmed grant", async || {
        held(&mine, &client.acquire(&mine).await.ok()?)
    })
    .await;
    assert!(client.release(&grant).await.unwrap().is_won());
    nothing_denied(&master);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_denied_and_not_tried_for_ever() {
    let server = server(&printed("").replace("+set ", ""));
    let client = open(&url(&server, "")).await;
    let mutex = name("m");
    let error = client.acquire(&bid(&mutex, "a", long())).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.retry()),
        (ErrorKind::Denied, Retry::Never),
        "{error:?}"
    );
    assert_eq!(
        error.outcome(),
        Outcome::MayHave,
        "who knows how far the script came"
    );
    assert!(
        error.to_string().contains("docs/stores/redis.md"),
        "{error}"
    );
    let coordinator = tenure::Coordinator::connect(url(&server, ""))
        .await
        .unwrap();
    let before = calls(&server, "evalsha");
    let error = coordinator.lock("m").unwrap().acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(calls(&server, "evalsha") - before < 50, "no tight loop");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_publish_locks_work_and_everybody_is_told() {
    let server = server(&printed("").replace("+publish", "+info"));
    let client = open(&url(&server, "")).await;
    let mutex = name("m");
    let held = win(&client, &bid(&mutex, "a", long())).await;
    let waiting = bid(&mutex, "b", long());
    lose(&client, &waiting).await;
    assert!(
        client.release(&held).await.unwrap().is_won(),
        "a denied word frees all the same"
    );
    let held = win(&client, &waiting).await;
    // Dead waiters cannot be told from others: they must not block.
    lose(&client, &bid(&mutex, "dead", long())).await;
    assert!(client.release(&held).await.unwrap().is_won());
    win(&client, &bid(&mutex, "newcomer", long())).await;
    let findings = client.check().await;
    let bad = findings
        .iter()
        .find(|finding| finding.severity == Severity::Bad);
    assert!(
        bad.is_some_and(|finding| finding.subject == "wake-ups"),
        "{findings:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_subscribe_waiters_look_now_and_then() {
    let server = server(&printed("").replace("+subscribe", ""));
    let owner = open(&url(&server, "")).await;
    let held = win(&owner, &bid(&name("m"), "a", long())).await;
    let coordinator = tenure::Coordinator::connect(url(&server, ""))
        .await
        .unwrap();
    let lock = coordinator.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    eventually("it waits", async || {
        (calls(&server, "evalsha") >= 3).then_some(())
    })
    .await;
    let before = calls(&server, "evalsha");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(calls(&server, "evalsha") - before <= 3, "no tight loop");
    assert!(owner.release(&held).await.unwrap().is_won());
    let guard = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    guard.unwrap().unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_wrong_password_is_denied_and_not_repeated() {
    let server = server(&printed(""));
    let url = format!("redis://tenure:hunter2@127.0.0.1:{}", server.port());
    let error = try_open(&url).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.retry()),
        (ErrorKind::Denied, Retry::Never),
        "{error:?}"
    );
    assert_eq!(error.outcome(), Outcome::DidNot);
    assert!(!format!("{error:?}{error}").contains("hunter2"));
}
