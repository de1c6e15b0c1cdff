//! A JVM Simba contender on the same row: an independent connection that does
//! exactly what Simba does.

use std::time::Duration;

use sqlx::{ConnectOptions as _, MySqlConnection, Row as _};
use tenure::backend::{Backend, Hint, Interest};
use tenure_testkit::Whole as _;

use crate::SERVER;
use crate::support::{bid, client, renew, until, win};

/// What Simba calls now: epoch millis of the server, in the session's zone.
const NOW: &str = "CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)";

struct Simba {
    connection: MySqlConnection,
    mutex: &'static str,
    id: &'static str,
    ttl: u64,
    transition: u64,
}

impl Simba {
    async fn new(mutex: &'static str, id: &'static str) -> Self {
        let options: sqlx::mysql::MySqlConnectOptions = SERVER.url().parse().unwrap();
        Self {
            connection: options.connect().await.unwrap(),
            mutex,
            id,
            ttl: 10_000,
            transition: 6_000,
        }
    }

    /// Acquires or renews, and looks: whether it owns.
    async fn contend(&mut self) -> bool {
        let update = format!(
            "UPDATE simba_mutex SET acquired_at = {NOW}, ttl_at = {NOW} + ?, \
             transition_at = {NOW} + ?, owner_id = ?, version = version + 1 \
             WHERE mutex = ? AND ((transition_at < {NOW}) OR (owner_id = ? AND transition_at > {NOW}))"
        );
        for _ in 0..2 {
            sqlx::query(sqlx::AssertSqlSafe(update.clone()))
                .bind(self.ttl)
                .bind(self.ttl + self.transition)
                .bind(self.id)
                .bind(self.mutex)
                .bind(self.id)
                .execute(&mut self.connection)
                .await
                .unwrap();
            let row = sqlx::query("SELECT owner_id FROM simba_mutex WHERE mutex = ?")
                .bind(self.mutex)
                .fetch_optional(&mut self.connection)
                .await
                .unwrap();
            if let Some(row) = row {
                return row.get::<String, _>("owner_id") == self.id;
            }
            sqlx::query(
                "INSERT INTO simba_mutex (mutex, acquired_at, ttl_at, transition_at, owner_id, \
                 version) VALUES (?, 0, 0, 0, '', 0)",
            )
            .bind(self.mutex)
            .execute(&mut self.connection)
            .await
            .unwrap();
        }
        unreachable!("the row is there by now");
    }

    async fn release(&mut self) -> bool {
        let done = sqlx::query(
            "UPDATE simba_mutex SET acquired_at = 0, ttl_at = 0, transition_at = 0, \
             owner_id = '', version = version + 1 WHERE mutex = ? AND owner_id = ?",
        )
        .bind(self.mutex)
        .bind(self.id)
        .execute(&mut self.connection)
        .await
        .unwrap();
        done.rows_affected() > 0
    }
}

#[tokio::test]
async fn a_jvm_contender_and_ours_take_turns() {
    let ours = client(&SERVER.url()).await.unwrap();
    let mut simba = Simba::new("turns", "jvm-1").await;
    let mut last = 0;
    for turn in 0..5 {
        assert!(simba.contend().await, "turn {turn}: free for the JVM");
        let mine = bid("turns", &format!("ours-{turn}"));
        for _ in 0..3 {
            assert!(simba.contend().await, "the JVM renews its own");
            let refused = ours.acquire(&mine).await.unwrap();
            assert!(!refused.is_won(), "the JVM owns");
            assert!(
                refused.owner().is_owner(&"jvm-1".parse().unwrap()),
                "{refused:?}"
            );
            assert_eq!(
                refused.owner().token(),
                None,
                "its version moves as it renews"
            );
            assert!(refused.owner().transition_at().is_some(), "{refused:?}");
        }
        assert!(simba.release().await);
        let held = win(&ours, &mine).await;
        assert!(held.token.store() > last, "tokens rise over a JVM's turn");
        last = held.token.store();
        for _ in 0..3 {
            assert!(!simba.contend().await, "ours owns");
            assert!(renew(&ours, &held).await.unwrap().is_won());
            assert!(!simba.release().await, "not the JVM's to release");
        }
        assert!(ours.release(&held).await.unwrap().is_won());
    }
}

#[tokio::test]
async fn each_waits_for_the_others_lease_after_a_crash() {
    let ours = client(&SERVER.url()).await.unwrap();
    let mut simba = Simba::new("crashes", "jvm-1").await;
    (simba.ttl, simba.transition) = (700, 300);
    assert!(simba.contend().await);
    let mut mine = bid("crashes", "ours");
    mine.terms = crate::support::terms(700, 300);
    let held = until("the JVM's lease is over", async || {
        let answer = ours.acquire(&mine).await.unwrap();
        answer.is_won().then(|| mine.held(answer.token().unwrap()))
    });
    let held = held.await;
    let mut took = false;
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while !took && std::time::Instant::now() < end {
        took = simba.contend().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(took, "our lease is over");
    assert!(
        !renew(&ours, &held).await.unwrap().is_won(),
        "the JVM owns by now"
    );
    assert!(!ours.release(&held).await.unwrap().is_won());
}

#[tokio::test]
async fn a_jvm_twin_with_our_id_ends_our_grant_and_never_shares_it() {
    let ours = client(&SERVER.url()).await.unwrap();
    let mut twin = Simba::new("twin", "same-id").await;
    let held = win(&ours, &bid("twin", "same-id")).await;
    // A JVM contender believes an owner with its id to be itself.
    assert!(twin.contend().await);
    assert!(
        !renew(&ours, &held).await.unwrap().is_won(),
        "the grant is not ours any more"
    );
    assert!(!ours.release(&held).await.unwrap().is_won());
    assert!(twin.release().await);
}

#[tokio::test]
async fn renewals_of_a_jvm_owner_are_no_news_and_its_release_is() {
    let ours = client(&SERVER.url()).await.unwrap();
    let mut simba = Simba::new("news", "jvm-1").await;
    assert!(simba.contend().await);
    let mine = bid("news", "ours");
    let mut hints = ours.changes(&Interest::in_turn(&mine).and_owner());
    // The first look is news to one who has just come.
    assert_eq!(hints.next().await, Some(Hint::Changed));
    for _ in 0..5 {
        assert!(simba.contend().await);
        let quiet = tokio::time::timeout(Duration::from_millis(150), hints.next()).await;
        assert!(quiet.is_err(), "a renewal changes no owner: {quiet:?}");
    }
    assert!(simba.release().await);
    let heard = [hints.next().await, hints.next().await];
    assert!(heard.contains(&Some(Hint::Turn)), "{heard:?}");
    win(&ours, &mine).await;
}

/// It takes it again if no other was faster, and learns of one who was.
#[tokio::test]
async fn a_revoked_jvm_owner_owns_again_or_learns_of_it_at_its_next_renewal() {
    let ours = client(&SERVER.url()).await.unwrap();
    let mut simba = Simba::new("revoked", "jvm-1").await;
    let name = tenure::model::MutexName::new("revoked").unwrap();
    assert!(simba.contend().await);
    assert!(ours.revoke(&name, None).await.unwrap().is_won());
    assert!(simba.contend().await, "nobody else wanted it");
    assert!(ours.revoke(&name, None).await.unwrap().is_won());
    let held = win(&ours, &bid("revoked", "ours")).await;
    assert!(!simba.contend().await, "it is told that ours owns");
    assert!(ours.release(&held).await.unwrap().is_won());
}
