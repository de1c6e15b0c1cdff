//! Rows that others have written, pages, and removing what is old.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Page, Prune};
use tenure_testkit::Whole as _;
use tenure_testkit::every_store::damage::{all, damage, is_isolated_and_mended};
use tenure_testkit::every_store::ledgers;
use tenure_testkit::every_store::prune::{pruned, removes_what_is_old, works_for_people};

use crate::SERVER;
use crate::support::{bid, client, win};

/// The URL of tables that only the caller uses.
fn tables(name: &str) -> String {
    format!("{}?table={name}&schedule_table={name}_s", SERVER.url())
}

#[tokio::test]
async fn damaged_rows_are_named_and_mended_and_hurt_no_other() {
    let coordinator = Coordinator::connect(tables("damaged")).await.unwrap();
    let soon = "(UNIX_TIMESTAMP() + 3600) * 1000";
    let row = |name: &str, owner: &str, until: &str| {
        let sql = format!("INSERT INTO damaged VALUES ({name}, 1, 1, {until}, {owner}, 5, NULL)");
        SERVER.sql(&sql).unwrap();
    };
    row("'no-id'", "CONCAT('a', CHAR(10))", soon);
    row("'two-parts'", "'a@@b'", soon);
    row("'nobody'", "''", soon);
    row("'for-ever'", "'a'", "18446744073709551615");
    let jvm = "名".repeat(66);
    row(&format!("'{jvm}'"), "'a'", soon);
    row("' padded'", "'a'", soon);
    row("CONCAT(CHAR(10), 'line')", "'a'", soon);
    let damage = [
        damage("no-id", "white space"),
        damage("two-parts", "'@@'"),
        damage("nobody", "no owner"),
        damage("for-ever", "longer than any lease"),
        damage(&jvm, "at most 66 bytes"),
        damage(" padded", "white space"),
        damage("\nline", "white space"),
    ];
    is_isolated_and_mended(&coordinator, &damage).await;
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn a_null_in_somebody_elses_table_hides_nothing() {
    SERVER
        .sql(
            "CREATE TABLE loose (mutex VARCHAR(66) PRIMARY KEY, acquired_at BIGINT, ttl_at BIGINT, \
             transition_at BIGINT, owner_id VARCHAR(128), version INT); \
             INSERT INTO loose VALUES ('null', NULL, NULL, (UNIX_TIMESTAMP() + 3600) * 1000, NULL, \
             NULL), ('minus', -5, -5, -5, 'a', 5)",
        )
        .unwrap();
    let coordinator = Coordinator::connect(tables("loose")).await.unwrap();
    let guard = coordinator.lock("good").unwrap().acquire().await.unwrap();
    let entries = all(&coordinator, 10).await;
    let faults: Vec<_> = entries
        .iter()
        .map(|e| (e.name.as_str(), e.fault.is_some()))
        .collect();
    // A lease that ended before 1970 is over.
    assert_eq!(faults, [("good", false), ("null", true)]);
    guard.release().await.unwrap();
    let error = coordinator.lock("null").unwrap().acquire().await;
    let error = error.map(drop).unwrap_err();
    assert_eq!(error.kind(), tenure::ErrorKind::Conflict, "{error:?}");
    assert!(coordinator.revoke("null", None).await.unwrap().is_freed());
    let guard = coordinator.lock("minus").unwrap().acquire().await.unwrap();
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn a_page_is_a_range_of_the_key() {
    let client = client(&tables("ranged")).await.unwrap();
    SERVER
        .sql(
            "CREATE TABLE digits (d INT); \
              INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9); \
              INSERT INTO ranged SELECT CONCAT('m', LPAD(seq, 6, '0')), 1, 1, \
              IF(seq % 10 = 0, 9000000000000, 0), IF(seq % 10 = 0, 'a', ''), 5, NULL FROM \
              (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS seq FROM digits a, \
              digits b, digits c, digits e, digits f WHERE f.d < 3) AS numbers; \
              ANALYZE TABLE ranged",
        )
        .unwrap();
    let plan = SERVER
        .sql(
            "EXPLAIN SELECT mutex, owner_id FROM ranged WHERE mutex > 'm015000' AND \
              transition_at >= 1 ORDER BY mutex LIMIT 500",
        )
        .unwrap();
    assert!(plan.contains("range") && plan.contains("PRIMARY"), "{plan}");
    assert!(!plan.contains("filesort"), "{plan}");
    let mut page = Page::first(500);
    let mut names = Vec::new();
    let reads = || {
        let text = SERVER
            .sql("SHOW GLOBAL STATUS LIKE 'Handler_read_next'")
            .unwrap();
        text.split_whitespace()
            .last()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    let before = reads();
    loop {
        let listing = client.list(&page).await.unwrap();
        names.extend(listing.entries.iter().map(|entry| entry.name.clone()));
        match listing.next_page(&page) {
            Some(next) => page = next,
            None => break,
        }
    }
    assert_eq!(names.len(), 3000);
    assert!(names.is_sorted());
    println!("{} rows read for 6 pages", reads() - before);
    client.close().await.unwrap();
}

#[tokio::test]
async fn on_another_collation_pages_are_in_the_order_of_bytes_too() {
    SERVER
        .sql("CREATE TABLE folded (mutex VARCHAR(66) NOT NULL PRIMARY KEY, acquired_at BIGINT \
              UNSIGNED NOT NULL, ttl_at BIGINT UNSIGNED NOT NULL, transition_at BIGINT UNSIGNED NOT \
              NULL, owner_id VARCHAR(128) NOT NULL, version INT UNSIGNED NOT NULL) DEFAULT CHARSET = \
              utf8mb4 COLLATE = utf8mb4_general_ci")
        .unwrap();
    let coordinator = Coordinator::connect(tables("folded")).await.unwrap();
    let mut guards = Vec::new();
    for name in ["b", "C", "a", "Z", "é"] {
        guards.push(coordinator.lock(name).unwrap().acquire().await.unwrap());
    }
    for size in [1, 2, 10] {
        let entries = all(&coordinator, size).await;
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["C", "Z", "a", "b", "é"]);
    }
    drop(guards);
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn old_rows_and_ledgers_go_and_tokens_rise() {
    let client = client(&tables("aged")).await.unwrap();
    let mutexes = removes_what_is_old(&client, 620, Duration::from_secs(8)).await;
    assert_eq!(mutexes, 619, "all but the one that is owned");
    works_for_people(&Coordinator::connect(tables("aged")).await.unwrap()).await;
}

/// What made this store different: a JVM peer makes the row again with version
/// 0, and a ledger that stayed would refuse every claim.
#[tokio::test]
async fn a_row_that_a_jvm_peer_makes_again_has_a_larger_token() {
    let client = client(&tables("remade")).await.unwrap();
    let held = win(&client, &bid("m", "a")).await;
    client.release(&held).await.unwrap();
    SERVER
        .sql("DELETE FROM remade; INSERT INTO remade VALUES ('m', 0, 0, 0, '', 0, NULL)")
        .unwrap();
    crate::support::until("the next second", async || {
        let again = win(&client, &bid("m", "b")).await;
        client.release(&again).await.unwrap();
        let larger = again.token > held.token;
        if !larger {
            SERVER.sql("UPDATE remade SET version = 0").unwrap();
        }
        larger.then_some(())
    })
    .await;
}

/// A version that is ahead of the clock would begin again with a smaller one.
#[tokio::test]
async fn a_version_ahead_of_the_clock_stays() {
    let client = client(&tables("ahead")).await.unwrap();
    SERVER
        .sql("INSERT INTO ahead VALUES ('m', 0, 0, 0, '', 2000000000, NULL), ('n', 0, 0, 0, '', 3, NULL)")
        .unwrap();
    let none = Prune::unused_for(Duration::ZERO);
    assert_eq!(pruned(&client, none).await, (1, 0));
    let left = SERVER.sql("SELECT mutex FROM ahead").unwrap();
    assert!(left.trim().ends_with('m'), "{left}");
}

/// A claim that is being written while ledgers are removed is not lost.
#[tokio::test]
async fn a_ledger_that_is_claimed_at_this_moment_is_not_removed() {
    let client = client(&tables("claimed")).await.unwrap();
    SERVER
        .sql("INSERT INTO claimed_s VALUES ('m', 'plan', 1, 7, 1, 1024, 'done', 1, NULL)")
        .unwrap();
    let claimer = std::thread::spawn(|| {
        SERVER.sql(
            "BEGIN; UPDATE claimed_s SET last_tick = 8, state = 'claimed', finished_at = NULL, \
             due_at = UNIX_TIMESTAMP() * 1000 WHERE name = 'm'; SELECT SLEEP(1.503); COMMIT",
        )
    });
    crate::support::until("the claimer has written", async || {
        let open = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                    WHERE INFO LIKE 'SELECT SLEEP(1.503)%'";
        (SERVER.sql(open).unwrap().trim() != "0").then_some(())
    })
    .await;
    let second = Prune::unused_for(Duration::from_secs(1)).with_schedules();
    let (_, ledgers) = pruned(&client, second).await;
    claimer.join().unwrap().unwrap();
    let left = SERVER.sql("SELECT last_tick FROM claimed_s").unwrap();
    assert_eq!((ledgers, left.trim()), (0, "8"), "the claim stands");
}

#[tokio::test]
async fn ledgers_of_an_earlier_version_are_read_and_extended_and_go_on_working() {
    let url = tables("earlier");
    drop(client(&url).await.unwrap());
    SERVER.sql("ALTER TABLE earlier_s DROP COLUMN run").unwrap();
    SERVER
        .sql("INSERT INTO earlier_s VALUES ('old', 'rate 1000ms after 0ms', 1, 7, 1, 1024, 'done', 1)")
        .unwrap();
    // A user who may not add the column does without.
    let without = client(&format!("{url}&create=off")).await.unwrap();
    ledgers::works_without_notes(&without).await;
    let with = client(&url).await.unwrap();
    ledgers::works_with_notes(&with).await;
    // A client that was there before goes on.
    ledgers::works_without_notes(&without).await;
}
