//! The permissions that the documentation prints are enough, and what happens
//! without them.

use std::time::Duration;

use tenure::backend::{Backend, Interest, Severity};
use tenure::{ErrorKind, Outcome, Retry};
use tenure_testkit::servers::Redis;

use crate::support::{Waiter, bid, calls, eventually, long, lose, name, open, try_open, win};

const DOCS: &str = include_str!("../../docs/stores/redis.md");

/// The lines of the documentation that define a user.
fn printed(prefix: &str) -> String {
    let mut lines = DOCS
        .lines()
        .filter(|line| line.starts_with("user tenure on"));
    let line = lines.find(|line| line.contains(&format!("~{prefix}*")));
    line.expect("the documentation prints it").to_owned()
}

fn server(user: &str) -> Redis {
    let users = format!("user default on nopass ~* &* +@all\n{user}\n");
    Redis::builder()
        .file("users.acl", users)
        .set("aclfile", "{dir}/users.acl")
        .start()
        .unwrap()
}

fn url(server: &Redis, rest: &str) -> String {
    format!("redis://tenure:secret@127.0.0.1:{}{rest}", server.port())
}

/// Everything that locks, leaders and observers do.
async fn live(server: &Redis, rest: &str) {
    let (here, there) = (
        open(&url(server, rest)).await,
        open(&url(server, rest)).await,
    );
    let mutex = name("m");
    let held = win(&here, &bid(&mutex, "a", long())).await;
    let mut observer = there.changes(&Interest::in_owner(&mutex));
    let mut waiter = Waiter::stand(&there, bid(&mutex, "b", long())).await;
    let second = Waiter::stand(&there, bid(&mutex, "c", long())).await;
    assert!(
        here.renew(std::slice::from_ref(&held))
            .await
            .remove(0)
            .unwrap()
            .is_won()
    );
    server.command(&["SCRIPT", "FLUSH"]).unwrap();
    assert!(here.release(&held).await.unwrap().is_won());
    let next = waiter.win(&there).await;
    assert!(observer.next().await.is_some());
    there.leave(&second.bid).await.unwrap();
    drop(second);
    assert!(
        here.owner(&mutex)
            .await
            .unwrap()
            .owner()
            .is_owner(&"b".parse().unwrap())
    );
    assert!(
        here.revoke(&mutex, Some(next.token))
            .await
            .unwrap()
            .is_won()
    );
    let denied = server.command(&["ACL", "LOG"]).unwrap();
    assert_eq!(denied.trim(), "", "nothing was denied");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_printed_permissions_are_enough() {
    let server = server(&printed("simba:"));
    // The only thing that is asked beyond them is INFO, which may be denied.
    server
        .command(&["ACL", "SETUSER", "tenure", "+info"])
        .unwrap();
    live(&server, "").await;
    server
        .command(&["ACL", "SETUSER", "tenure", "-info"])
        .unwrap();
    open(&url(&server, "")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_prefix_has_its_own_permissions() {
    let server = server(&printed("app:"));
    server
        .command(&["ACL", "SETUSER", "tenure", "+info"])
        .unwrap();
    live(&server, "?prefix=app:").await;
    let keys = server.command(&["KEYS", "*"]).unwrap();
    assert!(keys.lines().all(|key| key.starts_with("app:{m}")), "{keys}");
    let usual = open(&url(&server, "")).await;
    let error = usual
        .acquire(&bid(&name("m"), "a", long()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_denied_and_not_tried_for_ever() {
    let server = server(&printed("simba:").replace("+set ", ""));
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
    let coordinator = tenure::Coordinator::connect(&url(&server, ""))
        .await
        .unwrap();
    let before = calls(&server, "evalsha");
    let error = coordinator.lock("m").unwrap().acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(calls(&server, "evalsha") - before < 50, "no tight loop");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_publish_locks_work_and_everybody_is_told() {
    let server = server(&printed("simba:").replace("+publish", "+info"));
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
    let server = server(&printed("simba:").replace("+subscribe", ""));
    let owner = open(&url(&server, "")).await;
    let held = win(&owner, &bid(&name("m"), "a", long())).await;
    let coordinator = tenure::Coordinator::connect(&url(&server, ""))
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
    let server = server(&printed("simba:"));
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
