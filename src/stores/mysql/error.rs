//! What the server's errors mean.

use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;

use super::dialect::MySql;
use super::schema;
use crate::error::{Error, ErrorKind, Outcome, Retry};
use crate::stores::sql::Fault;
use crate::stores::sql::schema::{missing, not_ours};

/// What became of a statement that the server answered with `error`.
pub(super) fn fault(mysql: &MySql, error: &dyn DatabaseError) -> Fault {
    let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() else {
        return Fault::Ended;
    };
    let no = |kind, message: String| Error::new(kind, Outcome::DidNot).with_message(message);
    let said = error.message();
    Fault::Error(match error.number() {
        // Deadlock, or a conflict with another node of a cluster; a row that
        // changed under a snapshot.
        1213 | 1020 | 3101 => return Fault::Race,
        // The server shuts down, somebody killed the connection, or it was
        // idle for too long.
        1053 | 1077 | 1079 | 1317 | 1927 | 3169 | 4031 => return Fault::Ended,
        1205 | 3572 => no(
            ErrorKind::Timeout,
            "another transaction holds the row's lock for too long".into(),
        ),
        // A limit of the server's own for a statement.
        1969 | 3024 => no(
            ErrorKind::Timeout,
            format!("{} gave up: {said}", mysql.place),
        ),
        1142 | 1143 | 1227 | 1370 => no(
            ErrorKind::Denied,
            format!(
                "{} denied access: {said}; docs/stores/mysql.md has the GRANTs that are enough",
                mysql.place
            ),
        ),
        // Also: locked, expired, from another host, not over TLS.
        1044 | 1045 | 1130 | 1251 | 1698 | 1820 | 1862 | 3118 | 3159 | 4151 => no(
            ErrorKind::Denied,
            format!("{} denied access: {said}", mysql.place),
        ),
        1049 => no(ErrorKind::NotFound, format!("{}: {said}", mysql.place)),
        1146 => missing(mysql),
        // No such column; a view; what a column or a rule of the table does
        // not take, or another that wants a value.
        1054 | 1265 | 1288 | 1292 | 1348 | 1364 | 1423 | 1471 | 3819 | 4025 => {
            not_ours(mysql, said)
        }
        1264 | 1690 => schema::version_ended(mysql),
        1406 => schema::too_narrow(mysql),
        1366 | 1267 => schema::other_characters(mysql),
        // MySQL 8 remembers a column's characters from when the statement
        // was prepared, also when the table has others by now.
        3988 => return Fault::Outdated(schema::other_characters(mysql)),
        // A replica, or a server that is being moved: it may recover.
        1290 | 1792 | 1836 => no(
            ErrorKind::Denied,
            format!("{} is read-only: {said}", mysql.place),
        )
        .with_retry(Retry::Later),
        // Also: a node outside the quorum of its cluster, a server offline.
        1040 | 1047 | 1129 | 1203 | 1226 | 3032 => no(
            ErrorKind::Unreachable,
            format!("{} takes no connections now: {said}", mysql.place),
        ),
        number => no(
            ErrorKind::Store,
            format!("{} answered error {number}: {said}", mysql.place),
        ),
    })
}
