//! A server in New York, over both changes of the clock.

use std::time::Duration;

use tenure::backend::{AnyBackend, Backend, Prune};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::MariaDb;

use crate::support::{bid, client, renew, win};

/// A client for whose sessions the server's clock stands at `epoch`.
async fn client_at(server: &MariaDb, epoch: u64) -> AnyBackend {
    // Not run for users who may do everything.
    let set = format!("SET GLOBAL init_connect = 'SET TIMESTAMP = {epoch}'");
    server.sql(&set).unwrap();
    let url = server.url().replace("root@", "app:secret@");
    client(&url).await.unwrap()
}

fn local(server: &MariaDb, epoch: u64) -> String {
    let sql = format!("SET TIMESTAMP = {epoch}; SELECT DATE_FORMAT(NOW(), '%H:%i:%s')");
    server.sql(&sql).unwrap()
}

#[tokio::test]
async fn leases_hold_over_both_changes_of_the_clock_in_new_york() {
    let server = MariaDb::builder()
        .env("TZ", "America/New_York")
        .start()
        .unwrap();
    let user = "CREATE USER app@'%' IDENTIFIED BY 'secret'; GRANT ALL ON tenure.* TO app@'%'";
    server.sql(user).unwrap();
    // In 2026: 8 March 02:00 EST and 1 November 02:00 EDT.
    for (change, before, after) in [
        (1_772_953_200, "01:59:50", "03:00:05"),
        (1_793_512_800, "01:59:50", "01:00:05"),
    ] {
        assert_eq!(
            local(&server, change - 10),
            before,
            "the server is in New York"
        );
        assert_eq!(local(&server, change + 5), after, "its clock is set");
        let mine = bid(&format!("over-{change}"), "a");
        let here = client_at(&server, change - 10).await;
        let granted = here.acquire(&mine).await.unwrap();
        assert!(granted.is_won(), "{granted:?}");
        assert_eq!(granted.now().as_millis(), (change - 10) * 1000, "in UTC");
        let held = mine.held(granted.token().unwrap());
        // 15 s after a grant of 16 s.
        let there = client_at(&server, change + 5).await;
        let refused = there.acquire(&bid(mine.name.as_str(), "b")).await.unwrap();
        assert!(!refused.is_won(), "15 s later: {refused:?}");
        assert_eq!(refused.now().since(granted.now()), Duration::from_secs(15));
        let rest = refused.owner().remaining(refused.now());
        assert_eq!(rest, Some(Duration::from_secs(1)));
        let renewed = renew(&there, &held).await.unwrap();
        assert!(renewed.is_won(), "{renewed:?}");
        assert_eq!(
            renewed.owner().remaining(renewed.now()),
            Some(Duration::from_secs(16))
        );
        // The last moment is still owned, the next is not.
        let last = client_at(&server, change + 21).await;
        assert!(
            !last
                .acquire(&bid(mine.name.as_str(), "b"))
                .await
                .unwrap()
                .is_won()
        );
        let over = client_at(&server, change + 22).await;
        let next = win(&over, &bid(mine.name.as_str(), "b")).await;
        assert!(next.token > held.token);
        assert!(
            !renew(&over, &held).await.unwrap().is_won(),
            "its lease is over"
        );
    }
}

#[tokio::test]
async fn the_doctor_names_a_zone_that_could_hurt_jvm_peers() {
    let server = MariaDb::builder()
        .env("TZ", "America/New_York")
        .start()
        .unwrap();
    let client = client(&server.url()).await.unwrap();
    let findings = client.check().await;
    let zone = findings
        .iter()
        .find(|finding| finding.subject == "time zone")
        .unwrap();
    assert_eq!(
        zone.severity,
        tenure::backend::Severity::Warning,
        "{zone:?}"
    );
    assert!(zone.remedy.contains("UTC"), "{zone:?}");
}

#[tokio::test]
async fn a_clock_set_forward_ends_leases_early_and_tokens_still_rise() {
    let server = MariaDb::start().unwrap();
    let user = "CREATE USER app@'%' IDENTIFIED BY 'secret'; GRANT ALL ON tenure.* TO app@'%'";
    server.sql(user).unwrap();
    let here = client_at(&server, 1_780_000_000).await;
    let held = win(&here, &bid("stepped", "a")).await;
    // The server believes that the lease has been over for long.
    let there = client_at(&server, 1_780_003_600).await;
    let heir = win(&there, &bid("stepped", "b")).await;
    assert!(
        heir.token > held.token,
        "a fenced resource refuses the first"
    );
    // Set back, it keeps the heir's lease for an hour longer; the first owner
    // hears that it owns no more, and no other comes in.
    assert!(!renew(&here, &held).await.unwrap().is_won());
    let third = here.acquire(&bid("stepped", "c")).await.unwrap();
    assert!(!third.is_won(), "{third:?}");
}

/// What is removed takes its number along; the clock has a larger one, unless
/// it is set back.
#[tokio::test]
async fn tokens_rise_over_a_pruning_unless_the_clock_goes_back_by_more_than_that_was_old() {
    // All of its clocks are to be set.
    let server = MariaDb::builder().set("sysdate-is-now", "1");
    let server = server.start().unwrap();
    let user = "CREATE USER app@'%' IDENTIFIED BY 'secret'; GRANT ALL ON tenure.* TO app@'%'";
    server.sql(user).unwrap();
    let start = 1_780_000_000;
    let mut last = None;
    // Granted at the first, removed at the second moment.
    for (granted, removed) in [(0, 7200), (60, 9000)] {
        let store = client_at(&server, start + granted).await;
        let held = win(&store, &bid("m", "a")).await;
        // The second time the clock was set back, by 7140 s.
        assert!(Some(held.token) > last, "{held:?} after {last:?}");
        assert!(store.release(&held).await.unwrap().is_won());
        last = Some(held.token);
        let store = client_at(&server, start + removed).await;
        let hour = Prune::unused_for(Duration::from_secs(3600));
        assert_eq!(store.prune(&hour).await.unwrap().mutexes, 1);
    }
    // By more than that was old: as after a loss of data, tokens come again.
    let store = client_at(&server, start + 30).await;
    let held = win(&store, &bid("m", "a")).await;
    assert!(Some(held.token) < last, "stated, and so: {held:?}");
}
