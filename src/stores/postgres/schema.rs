//! The tables: how they are made, what one finds, and what to tell a person
//! whose table does not fit.

use std::sync::Arc;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::statements::Statements;
use super::wire::{Value, Wire};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::stores::sql::Ask;

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

/// The table of ledgers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schedules {
    Missing,
    /// Of an earlier version.
    WithoutNotes,
    WithNotes,
}

impl Schedules {
    pub(super) fn lacks_something(self) -> bool {
        self != Self::WithNotes
    }
}

/// What tables there are.
pub(super) struct Inspect(pub(super) Arc<Statements>, pub(super) Wire);

pub(super) struct Inspected {
    /// Of the mutex table; none when there is no table.
    pub(super) columns: Vec<String>,
    /// What is wrong with the type of one of them.
    pub(super) wrong: Option<String>,
    pub(super) schedule: Schedules,
}

impl Ask<PgConnection> for Inspect {
    type Reply = Inspected;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<Inspected> {
        let sql: Arc<str> =
            "SELECT attname::text AS name, format_type(atttypid, NULL) AS kind FROM pg_attribute \
             WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
                .into();
        let mutex = vec![Value::from(self.0.table.as_str())];
        let rows = self.1.rows(connection, &sql, mutex).await?;
        let read = |row: &PgRow| -> sqlx::Result<(String, String)> {
            Ok((row.try_get("name")?, row.try_get("kind")?))
        };
        let columns: Vec<_> = rows.iter().map(read).collect::<sqlx::Result<_>>()?;
        let wrong = columns.iter().find_map(|(name, kind)| wrong(name, kind));
        let columns = columns.into_iter().map(|(name, _)| name).collect();
        let schedule = vec![Value::from(self.0.schedule.as_str())];
        let rows = self.1.rows(connection, &sql, schedule).await?;
        let names = rows.iter().map(|row| row.try_get("name"));
        let names: Vec<String> = names.collect::<sqlx::Result<_>>()?;
        let schedule = match names.iter().any(|name| name == "run") {
            _ if names.is_empty() => Schedules::Missing,
            true => Schedules::WithNotes,
            false => Schedules::WithoutNotes,
        };
        Ok(Inspected {
            columns,
            wrong,
            schedule,
        })
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
pub(super) fn check(statements: &Statements, columns: &[String]) -> Result<()> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    let needed = [
        "mutex",
        "acquired_at",
        "ttl_at",
        "transition_at",
        "owner_id",
        "version",
    ];
    match needed.iter().find(|name| !has(name)) {
        Some(name) => Err(not_ours(statements, &format!("it has no column {name:?}"))),
        None if !has("nonce") => {
            let table = &statements.table;
            Err(no(
                ErrorKind::Conflict,
                format!(
                    "the table {table} has no column \"nonce\"; add it with:\nALTER TABLE {table} \
                     ADD COLUMN nonce VARCHAR(32) COLLATE \"C\" NOT NULL DEFAULT '';"
                ),
            ))
        }
        None => Ok(()),
    }
}

/// Makes the tables that are missing.
pub(super) struct Create(pub(super) Arc<Statements>);

impl Ask<PgConnection> for Create {
    type Reply = ();

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let short = "SET LOCAL lock_timeout = '2s'";
        let extension = format!("{short}; {}", extension(&self.0));
        for ddl in ddl(&self.0).into_iter().chain([extension]) {
            connection
                .execute(sqlx::raw_sql(AssertSqlSafe(ddl)))
                .await?;
        }
        Ok(())
    }
}

fn no(kind: ErrorKind, message: String) -> Error {
    Error::new(kind, Outcome::DidNot).with_message(message)
}

pub(super) fn missing(statements: &Statements) -> Error {
    let [mutex, schedule] = ddl(statements);
    no(
        ErrorKind::NotFound,
        format!("a table is missing; make both with:\n{mutex};\n{schedule};"),
    )
}

/// The tables are missing, and may not be made.
pub(super) fn not_made(statements: &Statements, error: Error) -> Error {
    let missing = missing(statements);
    Error::new(error.kind(), error.outcome())
        .with_message(format!("{missing}\nThey cannot be made from here: {error}"))
        .with_source(error)
}

pub(super) fn not_ours(statements: &Statements, what: &str) -> Error {
    let [mutex, _] = ddl(statements);
    let table = &statements.table;
    no(
        ErrorKind::Conflict,
        format!("the table {table} is not one of mutexes: {what}; it should be:\n{mutex};"),
    )
}

pub(super) fn too_narrow(statements: &Statements) -> Error {
    let table = &statements.table;
    no(
        ErrorKind::Conflict,
        format!(
            "the name or id does not fit its column; widen them with:\nALTER TABLE {table} \
             ALTER COLUMN mutex TYPE VARCHAR(66), ALTER COLUMN owner_id TYPE VARCHAR(128), \
             ALTER COLUMN nonce TYPE VARCHAR(32);"
        ),
    )
}

pub(super) fn other_characters(statements: &Statements) -> Error {
    let table = &statements.table;
    no(
        ErrorKind::Conflict,
        format!(
            "the name or id has characters that the database of {table} cannot encode; use a \
             database with the encoding UTF8"
        ),
    )
}
