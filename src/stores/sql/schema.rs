//! The tables: made if they are missing, and what to tell a person whose table
//! does not fit.

use super::client::Client;
use super::dialect::Dialect;
use super::question::{Create, Inspect};
use crate::error::{Error, ErrorKind, Outcome, Result};

/// What tables were found.
pub(in crate::stores) struct Inspected {
    /// Of the table of mutexes; none when there is no table.
    pub(in crate::stores) columns: Vec<Column>,
    pub(in crate::stores) ledgers: LedgerTable,
}

pub(in crate::stores) struct Column {
    pub(in crate::stores) name: String,
    /// Its type, as the server calls it.
    pub(in crate::stores) kind: String,
    /// How many characters it takes, where the server says so.
    #[cfg_attr(not(feature = "mysql"), expect(dead_code))]
    pub(in crate::stores) width: Option<u64>,
}

impl Inspected {
    /// From the columns of the two tables.
    pub(in crate::stores) fn new(mutexes: Vec<Column>, ledgers: &[Column]) -> Self {
        let ledgers = match ledgers.iter().any(|column| column.name == "run") {
            _ if ledgers.is_empty() => LedgerTable::Missing,
            true => LedgerTable::WithNotes,
            false => LedgerTable::WithoutNotes,
        };
        Self {
            columns: mutexes,
            ledgers,
        }
    }

    pub(in crate::stores) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// The table of ledgers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stores) enum LedgerTable {
    Missing,
    /// Of an earlier version.
    WithoutNotes,
    WithNotes,
}

impl<D: Dialect> Client<D> {
    /// Finds the tables as they must be, or makes them if it may.
    pub(super) async fn set_up(&self, may_create: bool) -> Result<()> {
        let dialect = self.dialect();
        // Looked at first: a user who may not make tables can use those there
        // are, and one who may makes none that is there already.
        let mut found = self.ask(Inspect).await?;
        let lacks_something = found.ledgers != LedgerTable::WithNotes;
        if may_create && (found.columns.is_empty() || lacks_something) {
            match self.ask(Create).await {
                Ok(()) => found = self.ask(Inspect).await?,
                // Without schedules it serves as well.
                Err(error) if !found.columns.is_empty() => {
                    tracing::debug!(%error, "the table of schedules cannot be made");
                }
                Err(error) => return Err(not_made(dialect, error)),
            }
        }
        if found.columns.is_empty() {
            return Err(missing(dialect));
        }
        dialect.fit(&found)?;
        dialect.keep_notes(found.ledgers == LedgerTable::WithNotes);
        Ok(())
    }
}

/// The table of mutexes cannot serve as it is. Nothing was done.
pub(in crate::stores) fn unfit(message: String) -> Error {
    Error::conflict(message)
}

pub(in crate::stores) fn missing(dialect: &impl Dialect) -> Error {
    let [mutexes, ledgers] = dialect.ddl();
    Error::new(ErrorKind::NotFound, Outcome::DidNot).with_message(format!(
        "a table is missing; make both with:\n{mutexes};\n{ledgers};"
    ))
}

/// The tables are missing, and may not be made.
fn not_made(dialect: &impl Dialect, error: Error) -> Error {
    let missing = missing(dialect);
    Error::new(error.kind(), error.outcome())
        .with_message(format!("{missing}\nThey cannot be made from here: {error}"))
        .with_source(error)
}

pub(in crate::stores) fn not_ours(dialect: &impl Dialect, what: &str) -> Error {
    let [ddl, _] = dialect.ddl();
    let [table, _] = dialect.tables();
    unfit(format!(
        "the table {table} is not one of mutexes: {what}; it should be:\n{ddl};"
    ))
}

/// An error when one of the columns that every such table has is missing.
pub(in crate::stores) fn check_columns(dialect: &impl Dialect, found: &Inspected) -> Result<()> {
    let needed = [
        "mutex",
        "acquired_at",
        "ttl_at",
        "transition_at",
        "owner_id",
        "version",
    ];
    match needed.iter().find(|name| found.column(name).is_none()) {
        Some(name) => Err(not_ours(dialect, &format!("it has no column {name:?}"))),
        None => Ok(()),
    }
}
