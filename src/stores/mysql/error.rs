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
    meaning(mysql, error.number(), error.message())
}

/// What a person can do when the server asks for the password itself and there
/// is no TLS. The driver could encrypt it for a key that the server sends, which
/// the driver does not verify: it is built without that, and says so to programmers.
pub(super) fn in_clear(error: sqlx::Error) -> sqlx::Error {
    match &error {
        sqlx::Error::Configuration(said) if said.to_string().contains("mysql-rsa") => {
            sqlx::Error::Configuration(
                "the server asks for the password itself, as caching_sha2_password does when the \
                 password is wrong or was not proven since its start; that needs TLS \
                 (tls=require; tls=prefer, the default, where the server has it)"
                    .into(),
            )
        }
        _ => error,
    }
}

/// What the error of this `number` means.
fn meaning(mysql: &MySql, number: u16, said: &str) -> Fault {
    let no = |kind, message: String| Error::new(kind, Outcome::DidNot).with_message(message);
    // No such column, or one that this user, a view, a rule or the server
    // itself lets no statement write: perhaps the one that is not needed.
    if matches!(
        number,
        1054 | 1143 | 1288 | 1348 | 1906 | 3105 | 3819 | 4025
    ) && mysql.stop_saying_purpose()
    {
        return Fault::Race;
    }
    Fault::Error(match number {
        // Deadlock, or a conflict with another node of a cluster; a row that
        // changed under a snapshot.
        1213 | 1020 | 3101 => return Fault::Race,
        // The server shuts down, an operator killed the connection, or it was
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
        // No such column; a view; what a column (3140: of JSON) or a rule of
        // the table does not take, or another that wants a value.
        1054 | 1265 | 1288 | 1292 | 1348 | 1364 | 1423 | 1471 | 3140 | 3819 | 4025 => {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::statements::Statements;
    use super::*;
    use crate::stores::kit::Source;
    use crate::stores::sql::Origin;

    #[test]
    fn what_servers_of_every_version_say_is_understood() {
        use ErrorKind::{Conflict, Denied, NotFound, Store, Timeout, Unreachable};
        use Retry::{Later, Never};
        let statements = Statements::new("simba_mutex", "tenure_schedule");
        let origin = Origin::new(Source::ready(Default::default), None);
        let mysql = MySql::new(
            origin,
            statements,
            "MySQL at db:3306".into(),
            Duration::ZERO,
        );
        for (number, kind, retry) in [
            // InnoDB's own limit, and NOWAIT of MySQL 8 (MariaDB says 1205).
            (1205, Timeout, Later),
            (3572, Timeout, Later),
            // The limit of a statement: MariaDB, MySQL.
            (1969, Timeout, Later),
            (3024, Timeout, Later),
            // Table, column, a privilege, a routine.
            (1142, Denied, Never),
            (1143, Denied, Never),
            (1227, Denied, Never),
            (1370, Denied, Never),
            // Accounts: wrong password, expired (1820, 1862), locked (MySQL
            // 3118, MariaDB 4151), without TLS (3159), another plugin.
            (1044, Denied, Never),
            (1045, Denied, Never),
            (1130, Denied, Never),
            (1251, Denied, Never),
            (1698, Denied, Never),
            (1820, Denied, Never),
            (1862, Denied, Never),
            (3118, Denied, Never),
            (3159, Denied, Never),
            (4151, Denied, Never),
            (1049, NotFound, Never),
            (1146, NotFound, Never),
            // Read-only: it may be over when the server has been moved.
            (1290, Denied, Later),
            (1792, Denied, Later),
            (1836, Denied, Later),
            // Full, blocked, without its cluster (1047), offline (3032).
            (1040, Unreachable, Later),
            (1047, Unreachable, Later),
            (1129, Unreachable, Later),
            (1203, Unreachable, Later),
            (1226, Unreachable, Later),
            (3032, Unreachable, Later),
            // A CHECK of the table: MySQL, MariaDB.
            (3819, Conflict, Never),
            (4025, Conflict, Never),
            (1054, Conflict, Never),
            // A column of JSON, in MySQL; MariaDB's is a text with a CHECK.
            (3140, Conflict, Never),
            // Unknown to us.
            (9999, Store, Later),
        ] {
            let Fault::Error(error) = meaning(&mysql, number, "it said so") else {
                panic!("{number} is told to the caller");
            };
            let judged = (error.kind(), error.retry(), error.outcome());
            assert_eq!(judged, (kind, retry, Outcome::DidNot), "{number}: {error}");
        }
        // Deadlock, a row changed under a snapshot, certification in a group.
        for number in [1213, 1020, 3101] {
            assert!(
                matches!(meaning(&mysql, number, ""), Fault::Race),
                "{number}"
            );
        }
        // Also: idle for too long in MySQL 8.0.24 and later (4031), killed as
        // MariaDB (1927) and MySQL (3169) say it.
        for number in [1053, 1077, 1079, 1317, 1927, 3169, 4031] {
            assert!(
                matches!(meaning(&mysql, number, ""), Fault::Ended),
                "{number}"
            );
        }
        assert!(matches!(meaning(&mysql, 3988, ""), Fault::Outdated(_)));
    }
}
