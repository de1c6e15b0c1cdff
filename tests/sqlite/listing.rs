//! Rows that another program has written, pages, and removing what is old.

use std::time::Duration;

use tenure::Coordinator;
use tenure_testkit::every_store::damage::{self, damage, is_isolated_and_mended};
use tenure_testkit::every_store::ledgers;
use tenure_testkit::every_store::prune::{self, removes_what_is_old, works_for_people};

use crate::support::TestFile;

/// A row as a person at the prompt might write it.
fn row(place: &TestFile, name: &str, owner: &str, until: &str, version: &str) {
    let sql = place.sql();
    let boot = "(SELECT boot_id FROM tenure_clock)";
    let sql_text = format!(
        "INSERT INTO simba_mutex VALUES ({name}, 1, 1, {until}, {owner}, {version}, {boot}, x'00')"
    );
    sql.execute_batch(&sql_text)
        .unwrap_or_else(|error| panic!("{sql_text}: {error}"));
}

#[tokio::test]
async fn damaged_rows_are_named_and_mended_and_hurt_no_other() {
    let place = TestFile::new();
    let coordinator = Coordinator::connect(place.url()).await.unwrap();
    // The store's clock is about the wall clock.
    let soon = "(CAST(strftime('%s') AS INTEGER) + 3600) * 1000";
    row(&place, "'no-id'", "'a' || char(10)", soon, "5");
    row(&place, "'two-parts'", "'a@@b'", soon, "5");
    row(&place, "'owner-bytes'", "CAST(x'61ff' AS TEXT)", soon, "5");
    row(&place, "'negative'", "'a'", "-5", "5");
    row(&place, "'before-zero'", "'a'", soon, "-5");
    row(&place, "'no-token'", "'a'", soon, "9007199254740992");
    row(&place, "'for-ever'", "'a'", "9223372036854775807", "5");
    row(&place, "CAST(x'62ff' AS TEXT)", "'a'", soon, "5");
    let jvm = "名".repeat(66);
    row(&place, &format!("'{jvm}'"), "'a'", soon, "5");
    row(&place, "' padded'", "'a'", soon, "5");
    row(&place, "''", "'a'", soon, "5");
    let damage = [
        damage("no-id", "white space"),
        damage("two-parts", "'@@'"),
        damage("owner-bytes", r"a\\xff"),
        damage("negative", "negative"),
        damage("before-zero", "negative"),
        damage("no-token", "2^53"),
        damage("for-ever", "longer than any lease"),
        damage(r"b\xff", "UTF-8"),
        damage(&jvm, "at most 66 bytes"),
        damage(" padded", "white space"),
        damage("", "blank"),
    ];
    is_isolated_and_mended(&coordinator, &damage).await;
    coordinator.close().await.unwrap();
}

/// Bytes that are no text are shown as a text that may be another mutex's name.
#[tokio::test]
async fn a_revocation_by_bytes_does_not_hit_the_name_that_shows_them() {
    let place = TestFile::new();
    let coordinator = Coordinator::connect(place.url()).await.unwrap();
    let soon = "(CAST(strftime('%s') AS INTEGER) + 3600) * 1000";
    row(&place, "CAST(x'62ff' AS TEXT)", "'a'", soon, "5");
    let guard = coordinator.lock(r"b\xff").unwrap().acquire().await;
    let guard = guard.unwrap();
    let damaged = tenure::model::MutexName::found(b"b\xff");
    let revoked = coordinator.revoke_found(&damaged, None).await.unwrap();
    assert!(revoked.is_freed(), "{revoked:?}");
    let owner = coordinator.owner(r"b\xff").await.unwrap();
    assert_eq!(owner.and_then(|owner| owner.token()), guard.token().ok());
    assert_eq!(damage::all(&coordinator, 10).await.len(), 1);
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn old_rows_and_ledgers_go_and_tokens_rise() {
    let place = TestFile::new();
    let client = place.open().await;
    let mutexes = removes_what_is_old(&client, 620, Duration::from_secs(4)).await;
    assert_eq!(mutexes, 619, "all but the one that is owned");
    works_for_people(&Coordinator::connect(place.url()).await.unwrap()).await;
}

#[tokio::test]
async fn a_version_ahead_of_the_clock_stays() {
    let place = TestFile::new();
    let client = place.open().await;
    row(&place, "'m'", "''", "0", "4000000000000000");
    let prune = tenure::backend::Prune::unused_for(Duration::ZERO);
    let pruned = prune::pruned(&client, prune).await;
    assert_eq!(pruned, (0, 0), "a new row would begin with a smaller token");
}

#[tokio::test]
async fn a_page_is_a_range_of_the_key() {
    let place = TestFile::new();
    drop(place.open().await);
    let sql = "EXPLAIN QUERY PLAN SELECT mutex FROM simba_mutex WHERE mutex > CAST(x'61' AS TEXT) \
               AND (owner_id <> '' AND boot_id = 'b' AND transition_at >= 5 OR version < 0) \
               ORDER BY mutex LIMIT 5";
    let plan: String = place
        .sql()
        .query_row(sql, [], |row| row.get("detail"))
        .unwrap();
    assert!(
        plan.starts_with("SEARCH simba_mutex USING PRIMARY KEY"),
        "{plan}"
    );
}

#[tokio::test]
async fn damaged_ledgers_are_named_and_hide_no_other() {
    let place = TestFile::new();
    let coordinator = Coordinator::connect(place.url()).await.unwrap();
    let sql = place.sql();
    for row in [
        "('state', 'rate 1000ms after 0ms', 1, 1, 1, 1024, 'gone', NULL, NULL)",
        "('negative', 'rate 1000ms after 0ms', 1, -1, 1, 1024, 'done', NULL, NULL)",
        "('bytes', CAST(x'61ff' AS TEXT), 1, 1, 1, 1024, 'done', NULL, NULL)",
    ] {
        sql.execute_batch(&format!("INSERT INTO tenure_schedule VALUES {row}"))
            .unwrap();
    }
    let client = place.open().await;
    let damaged = ["bytes", "negative", "state"];
    ledgers::damage_hides_no_other(&client, &coordinator, &damaged).await;
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_extended_and_its_programs_go_on() {
    let place = TestFile::new();
    drop(place.open().await);
    let sql = place.sql();
    sql.execute_batch("ALTER TABLE tenure_schedule DROP COLUMN run")
        .unwrap();
    let earlier = "INSERT OR REPLACE INTO tenure_schedule \
        (mutex, plan, origin, last_tick, due_at, token, state, finished_at) \
        VALUES ('old', 'rate 1000ms after 0ms', 1, ?1, 1, 1024, 'claimed', NULL)";
    sql.execute(earlier, [7]).unwrap();
    let client = place.open().await;
    ledgers::works_with_notes(&client).await;
    // As a program of before writes: the note of another run is none of its.
    sql.execute(earlier, [100]).unwrap();
    ledgers::works_with_notes(&client).await;
}
