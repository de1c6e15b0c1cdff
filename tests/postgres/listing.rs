//! Rows that others have written, pages, and removing what is old.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Page, Prune};
use tenure::model::MutexName;
use tenure_testkit::Whole as _;
use tenure_testkit::every_store::damage::{damage, is_isolated_and_mended};
use tenure_testkit::every_store::ledgers;
use tenure_testkit::every_store::prune::{pruned, removes_what_is_old, works_for_people};

use crate::SERVER;
use crate::support::{client, until};

/// The URL of tables that only the caller uses.
fn tables(name: &str) -> String {
    format!("{}?table={name}&schedule_table={name}_s", SERVER.url())
}

#[tokio::test]
async fn damaged_rows_are_named_and_mended_and_hurt_no_other() {
    let coordinator = Coordinator::connect(tables("damaged")).await.unwrap();
    let soon = "extract(epoch FROM now() + interval '1 hour')::bigint * 1000";
    let row = |name: &str, owner: &str, until: &str, version: &str| {
        let sql = format!("INSERT INTO damaged VALUES ({name}, 1, 1, {until}, {owner}, {version})");
        SERVER.sql(&sql).unwrap();
    };
    row("'no-id'", "'a' || chr(10)", soon, "5");
    row("'two-parts'", "'a@@b'", soon, "5");
    row("'nobody'", "''", soon, "5");
    row("'for-ever'", "'a'", "9223372036854775807", "5");
    row("'no-token'", "'a'", soon, "9007199254740992");
    let long = "名".repeat(66);
    row(&format!("'{long}'"), "'a'", soon, "5");
    row("' padded'", "'a'", soon, "5");
    row("chr(10) || 'line'", "'a'", soon, "5");
    let damage = [
        damage("no-id", "white space"),
        damage("two-parts", "'@@'"),
        damage("nobody", "no owner"),
        damage("for-ever", "longer than any lease"),
        damage("no-token", "2^53"),
        damage(&long, "at most 66 bytes"),
        damage(" padded", "white space"),
        damage("\nline", "white space"),
    ];
    is_isolated_and_mended(&coordinator, &damage).await;
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn a_page_is_a_range_of_the_key() {
    let client = client(&tables("ranged")).await.unwrap();
    SERVER
        .sql(
            "INSERT INTO ranged SELECT 'm' || lpad(n::text, 6, '0'), 1, 1, \
              CASE WHEN n % 10 = 0 THEN 9000000000000 ELSE 0 END, \
              CASE WHEN n % 10 = 0 THEN 'a' ELSE '' END, 5 FROM generate_series(1, 30000) AS n; \
              ANALYZE ranged",
        )
        .unwrap();
    let plan = SERVER
        .sql(
            "EXPLAIN SELECT * FROM ranged AS o WHERE o.transition_at >= 1 AND \
              o.mutex > 'm015000' COLLATE \"C\" ORDER BY o.mutex COLLATE \"C\" LIMIT 500",
        )
        .unwrap();
    assert!(
        plan.contains("Index Scan") && !plan.contains("Sort"),
        "{plan}"
    );
    let mut page = Page::first(500);
    let mut names = Vec::new();
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
    client.close().await.unwrap();
}

/// The reader of a page reckons from its time, also when there is nothing on it.
#[tokio::test]
async fn an_empty_page_has_the_servers_time() {
    let client = client(&tables("nobody")).await.unwrap();
    let name = MutexName::new("nobody").unwrap();
    let page = Page::of([name.clone()]);
    let listing = client.list(&page).await.unwrap();
    assert_eq!(listing.entries, []);
    SERVER.sql("DROP TABLE nobody_s").unwrap();
    let ledgers = client.list_ledgers(&page).await.unwrap();
    assert_eq!(ledgers.entries, []);
    let now = client.owner(&name).await.unwrap().now();
    for told in [listing.now, ledgers.now] {
        assert!(now.since(told) < Duration::from_secs(60), "{told} is {now}");
    }
    client.close().await.unwrap();
}

#[tokio::test]
async fn old_rows_and_ledgers_go_and_tokens_rise() {
    let client = client(&tables("aged")).await.unwrap();
    let mutexes = removes_what_is_old(&client, 620, Duration::from_secs(6)).await;
    assert_eq!(mutexes, 619, "all but the one that is owned");
    works_for_people(&Coordinator::connect(tables("aged")).await.unwrap()).await;
}

/// A removal waits for the table, never for long, and never in others' way.
#[tokio::test]
async fn a_stranger_on_the_table_delays_a_pruning_and_nobody_else() {
    let client = client(&tables("visited")).await.unwrap();
    SERVER
        .sql("INSERT INTO visited VALUES ('old', 0, 0, 0, '', 5), ('held', 0, 0, 0, '', 5)")
        .unwrap();
    let stranger = std::thread::spawn(|| {
        SERVER.sql(
            "BEGIN; SELECT 1 FROM visited WHERE mutex = 'held' FOR UPDATE; \
                    UPDATE visited SET ttl_at = 0 WHERE mutex = 'held'; SELECT pg_sleep(9); COMMIT",
        )
    });
    until("the stranger is there", async || {
        let held = SERVER.sql(
            "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                               WHERE c.relname = 'visited' AND l.mode = 'RowExclusiveLock'",
        );
        let held = held.unwrap();
        let digits: String = held.chars().filter(char::is_ascii_digit).collect();
        (!digits.trim_start_matches('0').is_empty()).then_some(())
    })
    .await;
    let start = std::time::Instant::now();
    let refused = client.prune(&Prune::unused_for(Duration::ZERO)).await;
    println!("refused after {:?}", start.elapsed());
    assert_eq!(refused.unwrap_err().kind(), tenure::ErrorKind::Timeout);
    let coordinator = Coordinator::connect(tables("visited")).await.unwrap();
    let guard = coordinator.lock("other").unwrap().acquire().await.unwrap();
    guard.release().await.unwrap();
    stranger.join().unwrap().unwrap();
    let (rows, _) = pruned(&client, Prune::unused_for(Duration::ZERO)).await;
    assert!(rows >= 2, "afterwards it goes: {rows}");
}

/// A claim that is being written while ledgers are removed is not lost.
#[tokio::test]
async fn a_ledger_that_is_claimed_at_this_moment_is_not_removed() {
    let client = client(&tables("claimed")).await.unwrap();
    SERVER
        .sql("INSERT INTO claimed_s VALUES ('m', 'plan', 1, 7, 1, 1024, 'done', 1)")
        .unwrap();
    // The claimer has written, and commits once another waits for its row, or
    // none does for a while.
    let claimer = std::thread::spawn(|| {
        SERVER.sql(
            "BEGIN; UPDATE claimed_s SET last_tick = 8, state = 'claimed', finished_at = NULL, \
             due_at = extract(epoch FROM clock_timestamp()) * 1000 WHERE name = 'm'; \
             DO $$ BEGIN FOR i IN 1..150 LOOP EXIT WHEN EXISTS (SELECT 1 FROM pg_locks \
             WHERE NOT granted AND transactionid = txid_current()::text::xid); PERFORM pg_sleep(0.01); END LOOP; END $$; COMMIT",
        )
    });
    until("the claimer has written", async || {
        let written = "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                       WHERE c.relname = 'claimed_s' AND l.mode = 'RowExclusiveLock'";
        (SERVER.sql(written).unwrap().trim() != "0").then_some(())
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
    let drop_column = "ALTER TABLE earlier_s DROP COLUMN run";
    SERVER.sql(drop_column).unwrap();
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
