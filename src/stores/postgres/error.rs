//! What the server's errors mean.

use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;

use super::dialect::Postgres;
use super::schema;
use crate::error::{Error, ErrorKind, Outcome, Retry};
use crate::stores::sql::Fault;
use crate::stores::sql::schema::{missing, not_ours};

/// What became of a statement that the server answered with `error`.
pub(super) fn fault(postgres: &Postgres, error: &dyn DatabaseError) -> Fault {
    let Some(error) = error.try_downcast_ref::<PgDatabaseError>() else {
        return Fault::Ended;
    };
    let no = |kind, message: String| Error::new(kind, Outcome::DidNot).with_message(message);
    let said = error.message();
    Fault::Error(match error.code() {
        // Serialization failure, deadlock, and a table that two made at once.
        "40001" | "40P01" | "42P07" | "42710" => return Fault::Race,
        "23505" if error.table().is_some_and(|table| table.starts_with("pg_")) => {
            return Fault::Race;
        }
        // The server shuts down or has crashed, has ended the session, or
        // cannot say what it did; or a pooler refuses in its own way.
        "57P01" | "57P02" | "57P04" | "57P05" | "25P03" | "25P04" | "08007" | "40003" | "08006"
        | "08P01" => return Fault::Ended,
        "57P03" | "53300" | "53400" => no(
            ErrorKind::Unreachable,
            format!("{} takes no connections now: {said}", postgres.place),
        ),
        "55P03" => no(
            ErrorKind::Timeout,
            "another transaction holds the row's lock for too long".into(),
        ),
        "57014" => no(
            ErrorKind::Timeout,
            format!("{} gave up: {said}", postgres.place),
        ),
        "42501" => no(
            ErrorKind::Denied,
            format!(
                "{} denied access: {said}; docs/stores/postgres.md has the GRANTs that are enough",
                postgres.place
            ),
        ),
        "28P01" | "28000" => no(
            ErrorKind::Denied,
            format!("{} denied access: {said}", postgres.place),
        ),
        "3D000" | "3F000" => no(ErrorKind::NotFound, format!("{}: {said}", postgres.place)),
        "42P01" => missing(postgres),
        // No such column, operator, cast or key; no table but a view; a
        // number, a null or a row that it does not take.
        "42703" | "42883" | "42804" | "42809" | "42P10" | "22003" | "22P02" | "22007" | "23502"
        | "23514" | "55000" => not_ours(postgres, said),
        "22001" => schema::too_narrow(postgres),
        "22P05" | "22021" => schema::other_characters(postgres),
        // A replica, or a server that is being moved: it may recover. The
        // server does not say whether it is so for this role alone.
        "25006" => no(
            ErrorKind::Denied,
            format!(
                "{} is read-only ({said}): it is a standby, or default_transaction_read_only \
                 is on for the server, the database or this role",
                postgres.place
            ),
        )
        .with_retry(Retry::Later),
        code => no(
            ErrorKind::Store,
            format!("{} answered error {code}: {said}", postgres.place),
        ),
    })
}
