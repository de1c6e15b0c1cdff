//! [`InMySql`]: the highest tokens in a table of MySQL or MariaDB.

use sqlx::{MySql, MySqlConnection, MySqlPool};
use tenure::model::FencingToken;

use super::remembered::Remembered;
use super::sql::{FenceDatabase, SeesTokens};
use super::{HighestSeen, judged};
use crate::admitted::Admitted;
use crate::refusal::Refusal;

/// Raises the token of the row, which stays locked until the transaction ends.
const RAISE: &str = "INSERT INTO fence (resource, token) VALUES (?, ?) \
    ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))";

/// Locking: a row that was not changed would be read as the transaction's snapshot has it.
const READ: &str = "SELECT token FROM fence WHERE resource = ? FOR UPDATE";

/// How often two statements that met in a deadlock are sent again: of those who make the row of a
/// resource at the same moment, one gets through every time.
const DEADLOCKS: usize = 20;

impl FenceDatabase for MySql {
    /// Of bytes: text that only looks the same is another resource.
    const FENCE_TABLE: &str = "CREATE TABLE IF NOT EXISTS fence \
        (resource VARBINARY(255) PRIMARY KEY, token BIGINT NOT NULL) ENGINE = InnoDB";
}

impl SeesTokens for MySql {
    async fn see(
        connection: &mut MySqlConnection,
        resource: &str,
        token: FencingToken,
    ) -> Result<i64, sqlx::Error> {
        let raise = sqlx::query(RAISE).bind(resource.as_bytes());
        let raise = raise.bind(i64::from(token));
        raise.execute(&mut *connection).await?;
        let read = sqlx::query_scalar(READ).bind(resource.as_bytes());
        read.fetch_one(connection).await
    }
}

/// The highest tokens in the table `fence` of the application's own MySQL or MariaDB, shared by all
/// servers of the resource. Two statements for each request, on a connection of the pool; the first
/// writes the row, so requests for one resource are as many as one row can take.
///
/// The rows must stay for as long as an old owner may come. Each server also remembers what it has
/// seen, so a table that was emptied is filled again by the servers that live; one that begins
/// after that, and [`fence_in`](crate::fence_in), know no more than the table.
///
/// It decides before the handler. What the handler writes to the same database, it should write in
/// a transaction that begins with [`fence_in`](crate::fence_in).
#[derive(Clone, Debug)]
pub struct InMySql {
    pool: MySqlPool,
    remembered: Remembered,
}

impl InMySql {
    /// On connections of this pool.
    #[must_use]
    pub fn new(pool: MySqlPool) -> Self {
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
        sqlx::query(MySql::FENCE_TABLE).execute(&self.pool).await?;
        Ok(())
    }
}

impl HighestSeen for InMySql {
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<Admitted, Refusal> {
        let mut connection = self.pool.acquire().await?;
        let least = self.remembered.at_least(resource, token);
        let mut deadlocks = 0;
        let newest = loop {
            match MySql::see(&mut connection, resource, least).await {
                Err(error) if is_deadlock(&error) && deadlocks < DEADLOCKS => deadlocks += 1,
                answer => break answer?,
            }
        };
        let newest = FencingToken::try_from(newest);
        if let Ok(newest) = newest {
            self.remembered.saw(resource, newest);
        }
        judged(resource, token, newest)
    }
}

fn is_deadlock(error: &sqlx::Error) -> bool {
    let answered = error.as_database_error();
    answered.is_some_and(|error| error.code().as_deref() == Some("40001"))
}
