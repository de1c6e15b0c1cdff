//! The tables: how they are made, what one finds, and what to tell a person
//! whose table does not fit.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::dialect::{Connection, Postgres};
use super::statements::Statements;
use crate::error::{Error, Result};
use crate::stores::sql::schema::{Column, Inspected, check_columns, not_ours, unfit};
use crate::stores::sql::{Answers, Create, Inspect};

/// The statements that make the tables. Half-filled pages, so that renewals
/// find room beside the row they replace.
pub(super) fn ddl(statements: &Statements) -> [String; 2] {
    let Statements {
        table, schedule, ..
    } = statements;
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {table} (\n  \
             mutex VARCHAR(66) COLLATE \"C\" NOT NULL PRIMARY KEY,\n  \
             acquired_at BIGINT NOT NULL,\n  ttl_at BIGINT NOT NULL,\n  \
             transition_at BIGINT NOT NULL,\n  \
             owner_id VARCHAR(128) COLLATE \"C\" NOT NULL,\n  version BIGINT NOT NULL,\n  \
             nonce VARCHAR(32) COLLATE \"C\" NOT NULL DEFAULT ''\n) WITH (fillfactor = 50)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {schedule} (\n  \
             name VARCHAR(66) COLLATE \"C\" NOT NULL PRIMARY KEY,\n  plan TEXT NOT NULL,\n  \
             origin BIGINT NOT NULL,\n  last_tick BIGINT NOT NULL,\n  due_at BIGINT NOT NULL,\n  \
             token BIGINT NOT NULL,\n  state VARCHAR(7) NOT NULL,\n  finished_at BIGINT,\n  \
             run TEXT\n)"
        ),
    ]
}

/// Adds to a table of an earlier version what it lacks; its processes go on
/// working with it.
pub(super) fn extension(statements: &Statements) -> String {
    let schedule = &statements.schedule;
    format!("ALTER TABLE {schedule} ADD COLUMN IF NOT EXISTS run TEXT")
}

impl Answers<Inspect> for Postgres {
    async fn answer(&self, on: &mut Connection, _: &Inspect) -> sqlx::Result<Inspected> {
        let mutexes = self.columns(on, &self.statements.table).await?;
        let ledgers = self.columns(on, &self.statements.schedule).await?;
        Ok(Inspected::new(mutexes, &ledgers))
    }
}

impl Postgres {
    async fn columns(&self, on: &mut Connection, table: &str) -> sqlx::Result<Vec<Column>> {
        let sql = "SELECT attname::text AS name, format_type(atttypid, NULL) AS kind FROM pg_attribute \
             WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped";
        let rows = self.wire.rows(on, sql, &[table.into()]).await?;
        let column = |row: &PgRow| {
            Ok(Column {
                name: row.try_get("name")?,
                kind: row.try_get("kind")?,
                width: None,
            })
        };
        rows.iter().map(column).collect()
    }
}

/// What is wrong with a column of this name and type.
fn wrong(name: &str, kind: &str) -> Option<String> {
    let right: &[&str] = match name {
        "mutex" | "owner_id" | "nonce" => &["character varying", "text", "character"],
        "acquired_at" | "ttl_at" | "transition_at" | "version" => &["bigint"],
        _ => return None,
    };
    (!right.contains(&kind)).then(|| format!("its column {name:?} is of the type {kind}"))
}

/// An error when a table with these columns is not one of mutexes.
pub(super) fn check(postgres: &Postgres, found: &Inspected) -> Result<()> {
    check_columns(postgres, found)?;
    if found.column("nonce").is_none() {
        let table = &postgres.statements.table;
        return Err(unfit(format!(
            "the table {table} has no column \"nonce\"; add it with:\nALTER TABLE {table} \
             ADD COLUMN nonce VARCHAR(32) COLLATE \"C\" NOT NULL DEFAULT '';"
        )));
    }
    let mut columns = found.columns.iter();
    match columns.find_map(|column| wrong(&column.name, &column.kind)) {
        Some(wrong) => Err(not_ours(postgres, &wrong)),
        None => Ok(()),
    }
}

impl Answers<Create> for Postgres {
    async fn answer(&self, on: &mut Connection, _: &Create) -> sqlx::Result<()> {
        // Bids would queue behind an ALTER that waits for the table.
        let short = "SET LOCAL lock_timeout = '2s'";
        let extension = format!("{short}; {}", extension(&self.statements));
        for ddl in ddl(&self.statements).into_iter().chain([extension]) {
            on.connection
                .execute(sqlx::raw_sql(AssertSqlSafe(ddl)))
                .await?;
        }
        Ok(())
    }
}

pub(super) fn too_narrow(postgres: &Postgres) -> Error {
    let table = &postgres.statements.table;
    unfit(format!(
        "the name or id does not fit its column; widen them with:\nALTER TABLE {table} \
             ALTER COLUMN mutex TYPE VARCHAR(66), ALTER COLUMN owner_id TYPE VARCHAR(128), \
             ALTER COLUMN nonce TYPE VARCHAR(32);"
    ))
}

pub(super) fn other_characters(postgres: &Postgres) -> Error {
    let table = &postgres.statements.table;
    unfit(format!(
        "the name or id has characters that the database of {table} cannot encode; use a \
             database with the encoding UTF8"
    ))
}
