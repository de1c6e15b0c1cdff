//! Pages of mutexes.
//!
//! Where the table's collation compares bytes, as that of our own does, a page
//! is a range of the primary key. Elsewhere names must be sorted by their bytes
//! at every page.

use std::sync::Arc;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::calls::{FindMany, row};
use super::client::MySql;
use super::statements::{COLUMNS, NOW, Statements};
use crate::backend::{Entry, Listing, Page};
use crate::error::Result;
use crate::model::MutexName;
use crate::stores::sql::{Ask, Row, page as page_of};

/// How many names one statement asks for.
const TOGETHER: usize = 200;

impl MySql {
    pub(super) async fn list_page(&self, page: &Page) -> Result<Listing> {
        if let Some(names) = &page.names {
            return self.look_up(page, names).await;
        }
        let after = page.after.as_ref().map(|name| name.as_str().to_owned());
        let most = page.limit.saturating_add(1) as u64;
        let to = self.to();
        let rows = self.read(List { to, after, most }).await?;
        let now = rows.first().map_or(self.about_now(), Row::now);
        Ok(page_of(rows.iter().map(entry).collect(), page, now))
    }

    async fn look_up(&self, page: &Page, names: &[MutexName]) -> Result<Listing> {
        let mut entries = Vec::new();
        let mut now = self.about_now();
        for some in names.chunks(TOGETHER) {
            let (to, names) = (self.to(), some.to_vec());
            for row in self.read(FindMany { to, names }).await? {
                now = row.now();
                let is_meant = some.iter().any(|name| name.as_str() == row.mutex);
                if is_meant && (!row.is_free() || row.fault().is_some()) {
                    entries.push(entry(&row));
                }
            }
        }
        Ok(page_of(entries, page, now))
    }
}

fn entry(row: &Row) -> Entry {
    row.entry(row.owner())
}

/// The owned rows after a name, in the order of bytes.
struct List {
    to: Arc<Statements>,
    after: Option<String>,
    most: u64,
}

impl Ask<MySqlConnection> for List {
    type Reply = Vec<Row>;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Vec<Row>> {
        let by_bytes = match self.to.by_bytes.get() {
            Some(known) => *known,
            None => {
                let found = sorts_by_bytes(connection, &self.to.names[0]).await?;
                *self.to.by_bytes.get_or_init(|| found)
            }
        };
        let name = if by_bytes {
            "mutex"
        } else {
            "BINARY CONVERT(mutex USING utf8mb4)"
        };
        // Not "after the empty name": some collations have names before it.
        let after = match self.after {
            Some(_) => format!("{name} > ? AND"),
            None => String::new(),
        };
        let sql = format!(
            "SELECT {COLUMNS}, {NOW} AS now FROM {} WHERE {after} transition_at >= {NOW} \
             ORDER BY {name} LIMIT ?",
            self.to.table
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        if let Some(after) = &self.after {
            query = query.bind(after);
        }
        let found = query.bind(self.most).fetch_all(connection).await?;
        found.iter().map(row).collect()
    }
}

async fn sorts_by_bytes(connection: &mut MySqlConnection, table: &str) -> sqlx::Result<bool> {
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
    .fetch_optional(connection)
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
