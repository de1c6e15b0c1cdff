//! The tables: how they are made, what one finds, and what to tell a person
//! whose table does not fit.

use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::calls::number_of;
use super::dialect::{Connection, MySql};
use super::stamp::VERSION_LIMIT;
use super::statements::Statements;
use crate::error::{Error, Result};
use crate::model::ContenderId;
use crate::stores::sql::schema::{Column, Inspected, check_columns, unfit};
use crate::stores::sql::{Answers, Create, Inspect};

/// JVM peers read the version as a signed int.
pub(super) const INT_LIMIT: u64 = (1 << 31) - 1;

/// From here on an operator should know.
pub(super) const INT_WARNING: u64 = (1 << 31) - (1 << 20);

/// The statements that make the tables. The first is shared with JVM Simba:
/// same columns, wide enough for every id, a collation that compares bytes, and
/// one more that peers need not know, because they name theirs.
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
             version INT UNSIGNED NOT NULL,\n  purpose BIGINT UNSIGNED NULL\n) {tail}"
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

/// What a table was found to be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// How many characters of an id fit.
    id_width: usize,
    /// Grants are given while the version is below this.
    pub(super) version_limit: u64,
    /// Whether there is room for what a mutex is wanted for.
    pub(super) says_purpose: bool,
}

impl Layout {
    /// Before anything was inspected.
    pub(super) fn narrowest() -> Self {
        Self {
            id_width: 0,
            version_limit: INT_LIMIT,
            says_purpose: false,
        }
    }

    /// Whether `id` fits the table.
    pub(super) fn has_room_for(&self, id: &ContenderId) -> bool {
        id.as_str().chars().count() <= self.id_width
    }

    /// Whether JVM peers can read the version, and it ends where theirs does.
    pub(super) fn has_int_version(&self) -> bool {
        self.version_limit == INT_LIMIT
    }
}

impl Answers<Inspect> for MySql {
    async fn answer(&self, on: &mut Connection, _: &Inspect) -> sqlx::Result<Inspected> {
        let [mutexes, ledgers] = &self.statements.names;
        let mutexes = columns(on, mutexes).await?;
        let ledgers = columns(on, ledgers).await?;
        Ok(Inspected::new(mutexes, &ledgers))
    }
}

async fn columns(on: &mut Connection, table: &str) -> sqlx::Result<Vec<Column>> {
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
    .fetch_all(on)
    .await?;
    let column = |row: &MySqlRow| {
        let name: String = row.try_get("name")?;
        let kind: String = row.try_get("type")?;
        Ok(Column {
            name: name.to_ascii_lowercase(),
            kind: kind.to_ascii_lowercase(),
            width: row.try_get("width")?,
        })
    };
    found.iter().map(column).collect()
}

/// Reads a table's columns.
pub(super) fn layout(mysql: &MySql, found: &Inspected) -> Result<Layout> {
    check_columns(mysql, found)?;
    let width = found.column("owner_id").and_then(|column| column.width);
    let id_width = width.and_then(|width| usize::try_from(width).ok());
    let version = found.column("version");
    Ok(Layout {
        id_width: id_width.unwrap_or(usize::MAX),
        version_limit: if version.is_some_and(|version| version.kind == "bigint") {
            VERSION_LIMIT - 1
        } else {
            INT_LIMIT
        },
        says_purpose: found
            .column("purpose")
            .is_some_and(|purpose| purpose.kind == "bigint"),
    })
}

impl Answers<Create> for MySql {
    async fn answer(&self, on: &mut Connection, _: &Create) -> sqlx::Result<()> {
        let to = &self.statements;
        for ddl in ddl(to) {
            on.execute(AssertSqlSafe(ddl)).await?;
        }
        let ledgers = columns(on, &to.names[1]).await?;
        if ledgers.iter().any(|column| column.name == "run") {
            return Ok(());
        }
        let extension = AssertSqlSafe(extension(to));
        match on.execute(extension).await {
            // Another process was first.
            Err(error) if number_of(&error) == Some(1060) => Ok(()),
            extended => extended.map(drop),
        }
    }
}

pub(super) fn too_narrow(mysql: &MySql) -> Error {
    let table = &mysql.statements.table;
    unfit(format!(
        "the contender id does not fit the column owner_id; widen it with:\n\
             ALTER TABLE {table} MODIFY owner_id VARCHAR(128) CHARACTER SET utf8mb4 \
             COLLATE utf8mb4_bin NOT NULL;"
    ))
}

pub(super) fn other_characters(mysql: &MySql) -> Error {
    let table = &mysql.statements.table;
    unfit(format!(
        "the name or id has characters that the table's character set lacks; change it \
             with:\nALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
    ))
}

/// `other` has the row that the name would need.
pub(super) fn collision(mysql: &MySql, other: &str) -> Error {
    let table = &mysql.statements.table;
    unfit(format!(
        "the table's collation holds this name equal to the mutex {other:?}, so they cannot \
             both have a row; compare bytes with:\n\
             ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
    ))
}

pub(super) fn version_ended(mysql: &MySql) -> Error {
    let table = &mysql.statements.table;
    unfit(format!(
        "the versions of this mutex are used up, so there is no larger token to grant; \
             make room with:\nALTER TABLE {table} MODIFY version BIGINT UNSIGNED NOT NULL;"
    ))
}

pub(super) fn does_not_commit(mysql: &MySql) -> Error {
    unfit(format!(
        "statements are not committed by themselves at {}, though its sessions are told to: \
         a pooler gives them other sessions. Let it keep one for each connection, or let the \
         server begin them with autocommit = 1",
        mysql.place
    ))
}
