//! `kill -9` in the middle of whatever it was doing.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::Connection;
use tenure::backend::{Backend, Bid};
use tenure_testkit::peer::Peer;

use crate::support::{SOON, TestFile, id, name, terms};

const NAMES: u64 = 4;

fn churner(place: &TestFile) -> Peer {
    let mut peer = Peer::contending(&place.url(), "m")
        .option("--churn", NAMES.to_string())
        .option("--ttl", "200ms")
        .option("--transition", "100ms")
        .spawn();
    peer.wait_line(SOON, "ready");
    peer
}

/// Each row is whole, and no token or tick is smaller than before.
fn assert_sound(sql: &Connection, before: &mut BTreeMap<String, (i64, i64)>) {
    let check: String = sql
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    let torn: i64 = sql
        .query_row(
            "SELECT count(*) FROM simba_mutex WHERE NOT (
                 owner_id = '' AND nonce = x'' AND acquired_at = 0 AND ttl_at = 0
                 AND transition_at = 0
                 OR owner_id <> '' AND length(nonce) = 16 AND acquired_at <= ttl_at
                 AND transition_at = ttl_at + 100)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(torn, 0, "rows that are half written");
    let mut statement = sql
        .prepare("SELECT mutex, version, coalesce(last_tick, -1) FROM simba_mutex LEFT JOIN tenure_schedule USING (mutex)")
        .unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))
        .unwrap();
    for row in rows {
        let (name, now): (String, (i64, i64)) = row.unwrap();
        let was = before.insert(name.clone(), now).unwrap_or((0, -1));
        assert!(was.0 <= now.0 && was.1 <= now.1, "{name}: {was:?} {now:?}");
    }
}

/// Kills `kills` processes, always `at_once` running, each at some moment of
/// its first `life`.
fn kill_many(place: &TestFile, kills: usize, at_once: usize, life: Duration) {
    let mut running: Vec<_> = (0..at_once).map(|_| churner(place)).collect();
    let mut seen = BTreeMap::new();
    for _ in 0..kills {
        std::thread::sleep(life.mul_f64(fastrand::f64()));
        running.remove(0).kill();
        // Opened anew: as a process that recovers the file.
        assert_sound(&place.sql(), &mut seen);
        running.push(churner(place));
    }
    assert_eq!(seen.len() as u64, NAMES, "they did work");
    drop(running);
    // All are dead: after one lease everything is free, with larger tokens.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = place.open().await;
        for number in 0..NAMES {
            let bid = Bid::new(name(&format!("m-{number}")), id("heir"), terms(60_000));
            let end = std::time::Instant::now() + SOON;
            let answer = loop {
                let answer = store.acquire(&bid).await.unwrap();
                if answer.is_won() {
                    break answer;
                }
                assert!(std::time::Instant::now() < end, "{answer:?}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            };
            let version = answer.token().unwrap().store();
            assert!(version as i64 > seen[bid.name.as_str()].0);
        }
        store.close().await.unwrap();
    });
}

#[test]
fn two_hundred_and_fifty_kills_leave_a_sound_file() {
    kill_many(&TestFile::new(), 250, 2, Duration::from_millis(15));
}

#[test]
fn fifty_kills_of_the_only_user_leave_a_sound_file() {
    // No other process has the file open: the next one recovers the log.
    let place = TestFile::with("?synchronous=full");
    kill_many(&place, 50, 1, Duration::from_millis(80));
}
