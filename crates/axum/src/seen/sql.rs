//! [`fence_in`]: the last word, in the application's own SQL transaction.

use sqlx::{Database, Transaction};
use tenure::model::FencingToken;

use super::judged;
use crate::refusal::Refusal;

/// A database with the table `fence`: `sqlx::Postgres` with the feature `postgres`, `sqlx::MySql`
/// with the feature `mysql`.
#[allow(private_bounds, reason = "the statements are this crate's")]
pub trait FenceDatabase: Database + SeesTokens {
    /// What makes the table, for a migration; `prepare` of `InPostgres` and `InMySql` runs it.
    const FENCE_TABLE: &str;
}

/// How a database is asked.
pub(crate) trait SeesTokens: Database {
    /// The highest token of `resource`, this one included. Its row stays locked until the
    /// transaction ends.
    fn see(
        connection: &mut Self::Connection,
        resource: &str,
        token: FencingToken,
    ) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;
}

/// Admits `token` in the application's own transaction, unless a higher one has been seen: the
/// last word, beside the write. Call it first, and roll back when it fails.
///
/// Until the transaction ends no other owner gets past its own `fence_in` for the resource, so the
/// writes of two cannot mix; what it saw counts if and only if the writes do.
///
/// The same for PostgreSQL and for MySQL and MariaDB:
///
/// ```
/// # #[cfg(feature = "postgres")]
/// # {
/// use axum::extract::State;
/// use sqlx::PgPool; // or MySqlPool
/// use tenure_axum::{Admitted, Refusal, fence_in};
///
/// /// A handler behind the gate.
/// async fn write(admitted: Admitted, State(pool): State<PgPool>) -> Result<(), Refusal> {
///     let mut transaction = pool.begin().await?;
///     fence_in(&mut transaction, admitted.resource(), admitted.token()).await?;
///     let update = sqlx::query("UPDATE account SET balance = 80 WHERE id = 7");
///     update.execute(&mut *transaction).await?;
///     transaction.commit().await?;
///     Ok(())
/// }
/// # let _: axum::Router<PgPool> = axum::Router::new().route("/", axum::routing::put(write));
/// # }
/// ```
///
/// # Errors
/// [`Refusal::Stale`] with the highest token; [`Refusal::Failed`] with what the database fails
/// with, such as a serialization failure of PostgreSQL in a transaction that is stricter than
/// `READ COMMITTED`, or a deadlock of MySQL.
///
/// # Cancel safety
/// Dropped, roll the transaction back.
pub async fn fence_in<DB: FenceDatabase>(
    transaction: &mut Transaction<'_, DB>,
    resource: &str,
    token: FencingToken,
) -> Result<(), Refusal> {
    let newest = DB::see(transaction, resource, token).await?;
    judged(resource, token, FencingToken::try_from(newest)).map(drop)
}
