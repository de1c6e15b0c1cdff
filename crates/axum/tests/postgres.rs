//! The highest tokens in a real PostgreSQL.

#[allow(dead_code)] // each test uses a part of it
#[macro_use]
mod shared;

use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tenure_axum::InPostgres;
use tenure_testkit::servers::Postgres;

sql_tests!(
    Postgres,
    PgPool,
    PgPoolOptions,
    InPostgres,
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
);

#[tokio::test(flavor = "multi_thread")]
async fn a_stricter_transaction_fails_instead_of_admitting_an_old_owner() {
    let (_server, pool) = place().await;
    let seen = InPostgres::new(pool.clone());
    seen.prepare().await.unwrap();
    assert_eq!(newest(seen.admit("account", token(1)).await), None);
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let mut strict = pool.begin().await.unwrap();
        let set = format!("SET TRANSACTION ISOLATION LEVEL {level}");
        let set = sqlx::AssertSqlSafe(set);
        sqlx::query(set).execute(&mut *strict).await.unwrap();
        let snapshot = sqlx::query("SELECT FROM fence");
        snapshot.execute(&mut *strict).await.unwrap();
        assert_eq!(newest(seen.admit("account", token(2)).await), None);
        let answer = fence_in(&mut strict, "account", token(1)).await;
        assert!(matches!(answer, Err(Refusal::Failed(_))), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lives_brings_back_what_the_table_lost() {
    let (server, pool) = place().await;
    InPostgres::new(pool.clone()).prepare().await.unwrap();
    let begin = || InPostgres::new(pool.clone());
    shared::a_server_that_lives_does_not_forget(begin, async || {
        server.sql("TRUNCATE fence").unwrap();
    })
    .await;
}
