//! What a mutex is wanted for, in a column that a table may have or not.

use tenure::backend::{AnyBackend, Backend, Held, Page, Severity};
use tenure::model::Purpose;
use tenure_testkit::Whole as _;

use crate::SERVER;
use crate::support::{bid, client, renew, win};

const ROOM: &str = "ADD COLUMN purpose BIGINT UNSIGNED NULL";

/// Simba's own table, under a name that only the caller uses.
fn without_room(table: &str) -> String {
    let ddl = format!(
        "CREATE TABLE {table} (mutex VARCHAR(66) NOT NULL PRIMARY KEY, acquired_at BIGINT \
         UNSIGNED NOT NULL, ttl_at BIGINT UNSIGNED NOT NULL, transition_at BIGINT UNSIGNED NOT \
         NULL, owner_id VARCHAR(128) NOT NULL, version INT UNSIGNED NOT NULL) \
         DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin"
    );
    SERVER.sql(&ddl).unwrap();
    url(table)
}

fn url(table: &str) -> String {
    format!("{}?table={table}&schedule_table={table}_s", SERVER.url())
}

fn alter(table: &str, what: &str) {
    SERVER.sql(&format!("ALTER TABLE {table} {what}")).unwrap();
}

async fn take(client: &AnyBackend, name: &str, purpose: Purpose) -> Held {
    win(client, &bid(name, "a").wanted_for(purpose)).await
}

/// What the listing tells of the only mutex, by page and by name.
async fn told(client: &AnyBackend, name: &str) -> Option<Purpose> {
    let named = Page::of([name.parse().unwrap()]);
    let mut purposes = Vec::new();
    for page in [Page::first(10), named] {
        let listing = client.list(&page).await.unwrap();
        assert_eq!(listing.entries.len(), 1, "{listing:?}");
        assert!(listing.entries[0].fault.is_none(), "{listing:?}");
        purposes.push(listing.entries[0].purpose);
    }
    assert_eq!(purposes[0], purposes[1]);
    purposes[0]
}

#[tokio::test]
async fn a_table_of_ours_tells_each_purpose_of_each_grant() {
    let client = client(&url("purposes")).await.unwrap();
    for purpose in Purpose::ALL {
        let held = take(&client, "m", purpose).await;
        assert_eq!(told(&client, "m").await, Some(purpose));
        assert!(renew(&client, &held).await.unwrap().is_won());
        assert_eq!(told(&client, "m").await, Some(purpose), "renewed");
        assert!(client.release(&held).await.unwrap().is_won());
    }
    let findings = client.check().await;
    let silent = findings.iter().all(|finding| finding.subject != "purpose");
    assert!(silent, "there is nothing to say: {findings:?}");
    // A bid that does not say it.
    win(&client, &bid("m", "a")).await;
    assert_eq!(told(&client, "m").await, None);
}

/// A JVM peer, or a process of an earlier version, does not know the column.
#[tokio::test]
async fn what_a_peer_takes_is_not_told_by_what_stood_there() {
    let client = client(&url("purposes_of_peers")).await.unwrap();
    let held = take(&client, "m", Purpose::Leader).await;
    assert!(client.release(&held).await.unwrap().is_won());
    let now = "CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)";
    let taken = format!(
        "UPDATE purposes_of_peers SET acquired_at = {now}, ttl_at = {now} + 60000, \
         transition_at = {now} + 60000, owner_id = 'jvm', version = version + 1"
    );
    SERVER.sql(&taken).unwrap();
    let written = SERVER.sql("SELECT purpose FROM purposes_of_peers").unwrap();
    assert_ne!(written, "NULL", "what was written for us is still there");
    assert_eq!(told(&client, "m").await, None, "and is not believed");
}

#[tokio::test]
async fn a_table_without_room_serves_as_before_and_the_doctor_says_how_to_make_some() {
    let url = without_room("purposeless");
    let older = client(&url).await.unwrap();
    let held = take(&older, "m", Purpose::Lock).await;
    assert_eq!(told(&older, "m").await, None);
    let findings = older.check().await;
    let finding = findings.iter().find(|finding| finding.subject == "purpose");
    let finding = finding.unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(finding.severity, Severity::Good, "nothing is wrong");
    let text = &finding.detail;
    let alter = &text[text.find("ALTER").unwrap()..text.rfind(';').unwrap()];
    SERVER.sql(alter).unwrap();
    // Processes that are there go on, with the grants that they have.
    assert!(renew(&older, &held).await.unwrap().is_won());
    assert_eq!(told(&older, "m").await, None);
    let newer = client(&url).await.unwrap();
    assert_eq!(told(&newer, "m").await, None, "of a grant from before");
    assert!(older.release(&held).await.unwrap().is_won());
    take(&newer, "m", Purpose::Lock).await;
    assert_eq!(told(&newer, "m").await, Some(Purpose::Lock));
}

#[tokio::test]
async fn the_column_may_go_while_mutexes_are_held_and_waited_for() {
    let table = "purpose_dropped";
    let client = client(&url(table)).await.unwrap();
    let held = take(&client, "m", Purpose::Schedule).await;
    alter(table, "DROP COLUMN purpose");
    assert_eq!(told(&client, "m").await, None);
    assert!(renew(&client, &held).await.unwrap().is_won());
    assert!(client.release(&held).await.unwrap().is_won());
    let held = take(&client, "m", Purpose::Schedule).await;
    assert!(client.release(&held).await.unwrap().is_won());
    // It is there again, for processes that begin now.
    alter(table, ROOM);
    let held = take(&client, "m", Purpose::Schedule).await;
    assert_eq!(told(&client, "m").await, None);
    assert!(client.release(&held).await.unwrap().is_won());
}

/// The first statement that meets what has changed is a take.
#[tokio::test]
async fn a_take_does_without_the_column_when_it_may_not_write_it() {
    let generated =
        "DROP COLUMN purpose, ADD COLUMN purpose BIGINT UNSIGNED AS (version + 7) VIRTUAL";
    let checked = "ADD CONSTRAINT small CHECK (purpose < 5)";
    for (number, change) in ["DROP COLUMN purpose", checked, generated]
        .into_iter()
        .enumerate()
    {
        let table = format!("purpose_refused_{number}");
        let client = client(&url(&table)).await.unwrap();
        alter(&table, change);
        let held = take(&client, "m", Purpose::Leader).await;
        assert!(renew(&client, &held).await.unwrap().is_won(), "{change}");
        assert_eq!(told(&client, "m").await, None, "{change}");
    }
}

#[tokio::test]
async fn a_user_who_may_not_write_the_column_takes_without_it() {
    let url = url("purpose_denied");
    drop(client(&url).await.unwrap());
    let mutexes = "(mutex, acquired_at, ttl_at, transition_at, owner_id, version)";
    SERVER
        .sql(&format!(
            "CREATE USER purposeless@'%'; GRANT SELECT ON tenure.purpose_denied TO purposeless@'%'; \
             GRANT INSERT {mutexes}, UPDATE {mutexes} ON tenure.purpose_denied TO purposeless@'%'; \
             GRANT SELECT, INSERT, UPDATE ON tenure.purpose_denied_s TO purposeless@'%'"
        ))
        .unwrap();
    let client = client(&url.replace("root@", "purposeless@")).await.unwrap();
    let held = take(&client, "m", Purpose::Leader).await;
    assert_eq!(told(&client, "m").await, None);
    assert!(client.release(&held).await.unwrap().is_won());
}

#[tokio::test]
async fn a_column_of_that_name_that_is_another_persons_is_left_alone() {
    let table = "purpose_of_others";
    let url = without_room(table);
    alter(table, "ADD COLUMN purpose VARCHAR(20) NULL");
    let client = client(&url).await.unwrap();
    let insert = "INSERT INTO purpose_of_others VALUES ('m', 0, 0, 0, '', 0, 'billing')";
    SERVER.sql(insert).unwrap();
    take(&client, "m", Purpose::Leader).await;
    assert_eq!(told(&client, "m").await, None);
    let kept = SERVER.sql("SELECT purpose FROM purpose_of_others").unwrap();
    assert_eq!(kept, "billing");
}
