//! [`InPostgres`]: the highest tokens in a table of PostgreSQL.

use sqlx::{PgConnection, PgPool, Postgres};
use tenure::model::FencingToken;

use super::remembered::Remembered;
use super::sql::{FenceDatabase, SeesTokens};
use super::{HighestSeen, judged};
use crate::admitted::Admitted;
use crate::refusal::Refusal;

/// Answers with the highest token, ours included. The row stays locked until the transaction ends.
const SEE: &str = "INSERT INTO fence (resource, token) VALUES ($1, $2) \
    ON CONFLICT (resource) DO UPDATE SET token = GREATEST(fence.token, excluded.token) \
    RETURNING token";

impl FenceDatabase for Postgres {
    const FENCE_TABLE: &str = "CREATE TABLE IF NOT EXISTS fence \
        (resource VARCHAR(255) PRIMARY KEY, token BIGINT NOT NULL)";
}

impl SeesTokens for Postgres {
    async fn see(
        connection: &mut PgConnection,
        resource: &str,
        token: FencingToken,
    ) -> Result<i64, sqlx::Error> {
        let question = sqlx::query_scalar(SEE).bind(resource);
        question.bind(i64::from(token)).fetch_one(connection).await
    }
}

/// The highest tokens in the table `fence` of the application's own PostgreSQL, shared by all
/// servers of the resource. One statement for each request, on a connection of the pool; it writes
/// the row, so requests for one resource are as many as one row can take.
///
/// The rows must stay for as long as an old owner may come. Each server also remembers what it has
/// seen, so a table that was emptied is filled again by the servers that live; one that begins
/// after that, and [`fence_in`](crate::fence_in), know no more than the table.
///
/// It decides before the handler. What the handler writes to the same database, it should write in
/// a transaction that begins with [`fence_in`](crate::fence_in).
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
        if sqlx::query(Postgres::FENCE_TABLE)
            .execute(&self.pool)
            .await
            .is_err()
        {
            // Of two who make it at the same moment one fails: now it is there.
            sqlx::query(Postgres::FENCE_TABLE)
                .execute(&self.pool)
                .await?;
        }
        Ok(())
    }
}

impl HighestSeen for InPostgres {
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<Admitted, Refusal> {
        let mut connection = self.pool.acquire().await?;
        let least = self.remembered.at_least(resource, token);
        let newest = Postgres::see(&mut connection, resource, least).await?;
        let newest = FencingToken::try_from(newest);
        if let Ok(newest) = newest {
            self.remembered.saw(resource, newest);
        }
        judged(resource, token, newest)
    }
}
