//! Pages of mutexes.
//!
//! Where the table's collation compares bytes, as that of our own does, a page
//! is a range of the primary key. Elsewhere names must be sorted by their bytes
//! at every page.

use sqlx::{AssertSqlSafe, Row as _};

use super::calls::rows;
use super::dialect::{Connection, MySql};
use super::purpose;
use super::statements::{COLUMNS, NOW};
use crate::stores::sql::{Answers, List, Rows};

impl Answers<List> for MySql {
    async fn answer(&self, on: &mut Connection, List { after, most }: &List) -> sqlx::Result<Rows> {
        let to = &self.statements;
        let by_bytes = match to.by_bytes.get() {
            Some(known) => *known,
            None => {
                let found = sorts_by_bytes(on, &to.names[0]).await?;
                *to.by_bytes.get_or_init(|| found)
            }
        };
        let name = if by_bytes {
            "mutex"
        } else {
            "BINARY CONVERT(mutex USING utf8mb4)"
        };
        // Not "after the empty name": some collations have names before it.
        let later = match after {
            Some(_) => format!("{name} > ? AND"),
            None => String::new(),
        };
        let sql = format!(
            "SELECT {COLUMNS}, {}, {NOW} AS now FROM {} WHERE {later} transition_at >= {NOW} \
             ORDER BY {name} LIMIT ?",
            purpose::column(self.layout().says_purpose),
            to.table
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        if let Some(after) = after {
            query = query.bind(after.as_str());
        }
        rows(&query.bind(*most).fetch_all(on).await?)
    }
}

async fn sorts_by_bytes(on: &mut Connection, table: &str) -> sqlx::Result<bool> {
    let (schema, table) = match table.split_once('.') {
        Some((schema, table)) => (Some(schema), table),
        None => (None, table),
    };
    let found = sqlx::query(
        "SELECT CAST(COLLATION_NAME AS CHAR) AS collation FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = 'mutex'",
    )
    .bind(schema)
    .bind(table)
    .fetch_optional(on)
    .await?;
    let collation = match found {
        Some(found) => found.try_get::<Option<String>, _>("collation")?,
        None => None,
    };
    Ok(matches!(
        collation.as_deref(),
        Some("utf8mb4_bin" | "utf8mb4_0900_bin")
    ))
}
