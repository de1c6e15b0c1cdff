//! The tables: how they are made, what one finds, and what to tell a person
//! whose table does not fit.

use std::sync::Arc;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::calls::number_of;
use super::clock::VERSION_LIMIT;
use super::statements::Statements;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::ContenderId;
use crate::stores::sql::Ask;

/// JVM peers read the version as a signed int.
pub(super) const INT_LIMIT: u64 = (1 << 31) - 1;

/// From here on somebody should know.
pub(super) const INT_WARNING: u64 = (1 << 31) - (1 << 20);

/// The statements that make the tables. The first is shared with JVM Simba:
/// same columns, wide enough for every id, and a collation that compares
/// bytes.
pub(super) fn ddl(statements: &Statements) -> [String; 2] {
    let Statements {
        table, schedule, ..
    } = statements;
    let tail = "ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin";
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {table} (\n  mutex VARCHAR(66) NOT NULL PRIMARY KEY,\n  \
             acquired_at BIGINT UNSIGNED NOT NULL,\n  ttl_at BIGINT UNSIGNED NOT NULL,\n  \
             transition_at BIGINT UNSIGNED NOT NULL,\n  owner_id VARCHAR(128) NOT NULL,\n  \
             version INT UNSIGNED NOT NULL\n) {tail}"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {schedule} (\n  name VARCHAR(66) NOT NULL PRIMARY KEY,\n  \
             plan TEXT NOT NULL,\n  origin BIGINT UNSIGNED NOT NULL,\n  \
             last_tick BIGINT UNSIGNED NOT NULL,\n  due_at BIGINT UNSIGNED NOT NULL,\n  \
             token BIGINT UNSIGNED NOT NULL,\n  state VARCHAR(7) NOT NULL,\n  \
             finished_at BIGINT UNSIGNED NULL,\n  run VARCHAR(100) NULL\n) {tail}"
        ),
    ]
}

/// Adds to a table of an earlier version what it lacks; its processes go on
/// working with it.
pub(super) fn extension(statements: &Statements) -> String {
    let schedule = &statements.schedule;
    format!("ALTER TABLE {schedule} ADD COLUMN run VARCHAR(100) NULL")
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

/// What a table was found to be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// How many characters of an id fit.
    id_width: usize,
    /// Grants are given while the version is below this.
    pub(super) version_limit: u64,
}

impl Layout {
    /// Whether `id` fits the table.
    pub(super) fn has_room_for(&self, id: &ContenderId) -> bool {
        id.as_str().chars().count() <= self.id_width
    }

    /// Whether JVM peers can read the version, and it ends where theirs does.
    pub(super) fn has_int_version(&self) -> bool {
        self.version_limit == INT_LIMIT
    }
}

/// What tables there are.
pub(super) struct Inspect(pub(super) Arc<Statements>);

pub(super) struct Inspected {
    /// Of the mutex table: name, type and width. None when there is no table.
    pub(super) columns: Vec<(String, String, Option<u64>)>,
    pub(super) schedule: Schedules,
}

impl Ask<MySqlConnection> for Inspect {
    type Reply = Inspected;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Inspected> {
        let [mutex, schedule] = &self.0.names;
        let columns = columns(connection, mutex).await?;
        let ledger = self::columns(connection, schedule).await?;
        let schedule = match ledger.iter().any(|(name, ..)| name == "run") {
            _ if ledger.is_empty() => Schedules::Missing,
            true => Schedules::WithNotes,
            false => Schedules::WithoutNotes,
        };
        Ok(Inspected { columns, schedule })
    }
}

async fn columns(
    connection: &mut MySqlConnection,
    table: &str,
) -> sqlx::Result<Vec<(String, String, Option<u64>)>> {
    let (schema, table) = match table.split_once('.') {
        Some((schema, table)) => (Some(schema), table),
        None => (None, table),
    };
    let found = sqlx::query(
        "SELECT CAST(COLUMN_NAME AS CHAR) AS name, CAST(DATA_TYPE AS CHAR) AS type, \
         CAST(CHARACTER_MAXIMUM_LENGTH AS UNSIGNED) AS width \
         FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?",
    )
    .bind(schema)
    .bind(table)
    .fetch_all(connection)
    .await?;
    let column = |row: &sqlx::mysql::MySqlRow| {
        let name: String = row.try_get("name")?;
        let kind: String = row.try_get("type")?;
        Ok((
            name.to_ascii_lowercase(),
            kind.to_ascii_lowercase(),
            row.try_get("width")?,
        ))
    };
    found.iter().map(column).collect()
}

/// Reads a table's columns.
pub(super) fn layout(
    statements: &Statements,
    columns: &[(String, String, Option<u64>)],
) -> Result<Layout> {
    let column = |name: &str| columns.iter().find(|(column, ..)| column == name);
    for name in ["mutex", "acquired_at", "ttl_at", "transition_at"] {
        if column(name).is_none() {
            return Err(not_ours(statements, &format!("it has no column {name:?}")));
        }
    }
    let (Some(owner), Some(version)) = (column("owner_id"), column("version")) else {
        return Err(not_ours(statements, "it has no owner_id or no version"));
    };
    let id_width = owner.2.and_then(|width| usize::try_from(width).ok());
    Ok(Layout {
        id_width: id_width.unwrap_or(usize::MAX),
        version_limit: if version.1 == "bigint" {
            VERSION_LIMIT - 1
        } else {
            INT_LIMIT
        },
    })
}

/// Makes the tables that are missing.
pub(super) struct Create(pub(super) Arc<Statements>);

impl Ask<MySqlConnection> for Create {
    type Reply = ();

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<()> {
        for ddl in ddl(&self.0) {
            connection.execute(AssertSqlSafe(ddl)).await?;
        }
        let ledger = columns(connection, &self.0.names[1]).await?;
        if ledger.iter().any(|(name, ..)| name == "run") {
            return Ok(());
        }
        let extension = AssertSqlSafe(extension(&self.0));
        match connection.execute(extension).await {
            // Somebody else was first.
            Err(error) if number_of(&error) == Some(1060) => Ok(()),
            extended => extended.map(drop),
        }
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
            "the contender id does not fit the column owner_id; widen it with:\n\
             ALTER TABLE {table} MODIFY owner_id VARCHAR(128) CHARACTER SET utf8mb4 \
             COLLATE utf8mb4_bin NOT NULL;"
        ),
    )
}

pub(super) fn other_characters(statements: &Statements) -> Error {
    let table = &statements.table;
    no(
        ErrorKind::Conflict,
        format!(
            "the name or id has characters that the table's character set lacks; change it \
             with:\nALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
        ),
    )
}

/// `other` has the row that the name would need.
pub(super) fn collision(statements: &Statements, other: &str) -> Error {
    let table = &statements.table;
    no(
        ErrorKind::Conflict,
        format!(
            "the table's collation holds this name equal to the mutex {other:?}, so they cannot \
             both have a row; compare bytes with:\n\
             ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
        ),
    )
}

pub(super) fn version_ended(statements: &Statements) -> Error {
    let table = &statements.table;
    no(
        ErrorKind::Conflict,
        format!(
            "the versions of this mutex are used up, so there is no larger token to grant; \
             make room with:\nALTER TABLE {table} MODIFY version BIGINT UNSIGNED NOT NULL;"
        ),
    )
}
