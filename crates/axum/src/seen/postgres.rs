//! [`InPostgres`] and [`fence_in`]: the highest tokens in a table of PostgreSQL.

use sqlx::{PgExecutor, PgPool, Postgres, Transaction};
use tenure::model::FencingToken;

use super::remembered::Remembered;
use super::{HighestSeen, judged};
use crate::admitted::Admitted;
use crate::refusal::Refusal;

/// What makes the table, for a migration; [`InPostgres::prepare`] runs it.
pub const FENCE_TABLE: &str = "CREATE TABLE IF NOT EXISTS fence \
    (resource VARCHAR(255) PRIMARY KEY, token BIGINT NOT NULL)";

/// Answers with the highest token, ours included. The row stays locked until the transaction ends.
const SEE: &str = "INSERT INTO fence (resource, token) VALUES ($1, $2) \
    ON CONFLICT (resource) DO UPDATE SET token = GREATEST(fence.token, excluded.token) \
    RETURNING token";

/// The highest tokens in the table `fence` of the application's own PostgreSQL, shared by all
/// servers of the resource. One statement for each request, on a connection of the pool; it writes
/// the row, so requests for one resource are as many as one row can take.
///
/// The rows must stay for as long as an old owner may come. Each server also remembers what it has
/// seen, so a table that was emptied is filled again by the servers that live; one that begins
/// after that, and [`fence_in`], know no more than the table.
///
/// It decides before the handler. What the handler writes to the same database, it should write in
/// a transaction that begins with [`fence_in`].
#[derive(Clone, Debug)]
pub struct InPostgres {
    pool: PgPool,
    remembered: Remembered,
}

impl InPostgres {
    /// On connections of this pool.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        let remembered = Remembered::default();
        Self { pool, remembered }
    }

    /// Makes the table if it is not there; many may do so at a time.
    ///
    /// # Errors
    /// What the database fails with.
    ///
    /// # Cancel safety
    /// Dropped, the table may have been made or not.
    pub async fn prepare(&self) -> Result<(), sqlx::Error> {
        if sqlx::query(FENCE_TABLE).execute(&self.pool).await.is_err() {
            // Of two who make it at the same moment one fails: now it is there.
            sqlx::query(FENCE_TABLE).execute(&self.pool).await?;
        }
        Ok(())
    }
}

impl HighestSeen for InPostgres {
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<Admitted, Refusal> {
        let least = self.remembered.at_least(resource, token);
        let newest = see(&self.pool, resource, least).await?;
        if let Ok(newest) = newest {
            self.remembered.saw(resource, newest);
        }
        judged(resource, token, newest)
    }
}

/// Admits `token` in the application's own transaction, unless a higher one has been seen: the
/// last word, beside the write. Call it first, and roll back when it fails.
///
/// Until the transaction ends no other owner gets past its own `fence_in` for the resource, so the
/// writes of two cannot mix; what it saw counts if and only if the writes do.
///
/// ```
/// use axum::extract::State;
/// use sqlx::PgPool;
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
/// ```
///
/// # Errors
/// [`Refusal::Stale`] with the highest token; [`Refusal::Failed`] with what the database fails
/// with, such as a serialization failure in a transaction that is stricter than `READ COMMITTED`.
///
/// # Cancel safety
/// Dropped, roll the transaction back.
pub async fn fence_in(
    transaction: &mut Transaction<'_, Postgres>,
    resource: &str,
    token: FencingToken,
) -> Result<(), Refusal> {
    let newest = see(&mut **transaction, resource, token).await?;
    judged(resource, token, newest).map(drop)
}

async fn see(
    database: impl PgExecutor<'_>,
    resource: &str,
    token: FencingToken,
) -> sqlx::Result<tenure::Result<FencingToken>> {
    let question = sqlx::query_scalar::<_, i64>(SEE).bind(resource);
    let answer = question.bind(i64::from(token)).fetch_one(database).await;
    Ok(FencingToken::try_from(answer?))
}
