//! Users that may do what `tenure init --print` prints, and no more.

use tenure::backend::{Backend, Claim, ClaimAnswer, Interest, Page, Severity, TickEnd};
use tenure::model::StoreTime;
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{Redis, RedisBuilder};

use crate::support::{Waiter, bid, long, name, open, win};

/// The lines that define a user for `url`.
pub(crate) fn lines(url: &str) -> Vec<String> {
    let text = tenure::stores::setup(&url.parse().unwrap()).unwrap();
    let users = text.lines().filter(|line| line.starts_with("user "));
    users.map(str::to_owned).collect()
}

/// A server with that user, and one for the tests themselves.
pub(crate) fn granted(server: RedisBuilder, user: &str) -> RedisBuilder {
    let users = format!("user default on nopass ~* &* +@all\n{user}\n");
    server
        .file("users.conf", users)
        .set("include", "{dir}/users.conf")
}

pub(crate) fn nothing_denied(server: &Redis) {
    let denied = server.command(&["ACL", "LOG"]).unwrap();
    assert_eq!(denied.trim(), "", "nothing was denied");
}

/// Everything that locks, leaders and observers do.
pub(crate) async fn is_enough_for_locks(url: &str, server: &Redis) {
    let (here, there) = (open(url).await, open(url).await);
    let mutex = name("m");
    let held = win(&here, &bid(&mutex, "a", long())).await;
    let mut observer = there.changes(&Interest::in_owner(&mutex));
    let mut waiter = Waiter::stand(&there, bid(&mutex, "b", long())).await;
    let second = Waiter::stand(&there, bid(&mutex, "c", long())).await;
    let renewed = here.renew(std::slice::from_ref(&held)).await.remove(0);
    assert!(renewed.unwrap().is_won());
    server.command(&["SCRIPT", "FLUSH"]).unwrap();
    assert!(here.release(&held).await.unwrap().is_won());
    let next = waiter.win(&there).await;
    assert!(observer.next().await.is_some());
    there.leave(&second.bid).await.unwrap();
    drop(second);
    let owner = here.owner(&mutex).await.unwrap();
    assert!(owner.owner().is_owner(&"b".parse().unwrap()));
    let revoked = here.revoke(&mutex, Some(next.token)).await.unwrap();
    assert!(revoked.is_won());
}

/// The same, with schedules, listings and the doctor.
pub(crate) async fn is_enough_for_all(url: &str, server: &Redis) {
    is_enough_for_locks(url, server).await;
    let client = open(url).await;
    let held = win(&client, &bid(&name("m"), "leader", long())).await;
    let at = StoreTime::from_millis(1_700_000_000_000);
    let claimed = client
        .claim_tick(&held, &Claim::new("rate 1s", at, 1, at))
        .await;
    assert_eq!(claimed.unwrap(), ClaimAnswer::Claimed);
    assert!(
        client
            .finish_tick(&held, &TickEnd::new(1, true))
            .await
            .unwrap()
    );
    assert!(client.read_ledger(&held.name).await.unwrap().is_some());
    let listing = client.list(&Page::first(10)).await.unwrap();
    assert_eq!(listing.entries.len(), 1);
    let findings = client.check().await;
    let told = |finding: &&tenure::backend::Finding| finding.subject == "version";
    assert!(findings.iter().any(|it| told(&it)), "INFO: {findings:?}");
    assert!(findings.iter().all(|it| it.severity != Severity::Bad));
    assert!(client.release(&held).await.unwrap().is_won());
}
