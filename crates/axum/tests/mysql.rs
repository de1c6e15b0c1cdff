//! The highest tokens in a real MariaDB.

#[allow(dead_code)] // each test uses a part of it
#[macro_use]
mod shared;

use sqlx::mysql::MySqlPoolOptions;
use sqlx::{Connection, MySqlPool};
use tenure_axum::InMySql;
use tenure_testkit::servers::MariaDb;

sql_tests!(
    MariaDb,
    MySqlPool,
    MySqlPoolOptions,
    InMySql,
    "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
);

#[tokio::test(flavor = "multi_thread")]
async fn an_old_snapshot_does_not_hide_a_newer_owner() {
    let (_server, pool) = place().await;
    let seen = InMySql::new(pool.clone());
    seen.prepare().await.unwrap();
    assert_eq!(newest(seen.admit("account", token(1)).await), None);
    for (round, level) in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
        .into_iter()
        .enumerate()
    {
        let (old, new) = (token(1 + round as u64), token(2 + round as u64));
        let mut connection = pool.acquire().await.unwrap();
        let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
        let set = sqlx::query(sqlx::AssertSqlSafe(set));
        set.execute(&mut *connection).await.unwrap();
        let mut strict = connection.begin().await.unwrap();
        // Of another row: a strict transaction locks those it has read.
        let snapshot = sqlx::query("SELECT token FROM fence WHERE resource = 'another'");
        snapshot.execute(&mut *strict).await.unwrap();
        assert_eq!(newest(seen.admit("account", new).await), None);
        match fence_in(&mut strict, "account", old).await {
            // MariaDB from 11.6.2 on does not let such a transaction go on.
            Err(Refusal::Failed(error))
                if error.to_string().contains("changed since last read") =>
            {
                assert_ne!(level, "READ COMMITTED", "{error}");
            }
            answer => assert_eq!(newest(answer), Some(new.value()), "{level}"),
        }
        strict.rollback().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_looks_the_same_is_another_resource() {
    let (_server, pool) = place().await;
    let seen = InMySql::new(pool);
    seen.prepare().await.unwrap();
    for (value, resource) in ["caf\u{e9}", "CAF\u{e9}", "cafe", "cafe "]
        .iter()
        .enumerate()
    {
        let falling = token(9 - value as u64);
        assert_eq!(newest(seen.admit(resource, falling).await), None);
    }
    let long = "x".repeat(300);
    let refused = seen.admit(&long, token(1)).await;
    assert!(matches!(refused, Err(Refusal::Failed(_))), "{refused:?}");
}
