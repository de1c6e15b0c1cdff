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
    meaning(postgres, error.code(), error.message(), error.table())
}

/// What the error of this `code` means; `table` is the one that it is about.
fn meaning(postgres: &Postgres, code: &str, said: &str, table: Option<&str>) -> Fault {
    let no = |kind, message: String| Error::new(kind, Outcome::DidNot).with_message(message);
    Fault::Error(match code {
        // Serialization failure, deadlock, and a table that two made at once.
        "40001" | "40P01" | "42P07" | "42710" => return Fault::Race,
        "23505" if table.is_some_and(|table| table.starts_with("pg_")) => {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::statements::Statements;
    use super::super::wire::Wire;
    use super::*;
    use crate::stores::kit::Source;
    use crate::stores::sql::{Limits, Origin};

    fn postgres() -> Postgres {
        let call = Duration::from_secs(1);
        Postgres {
            origin: Origin::new(Source::ready(Default::default), None),
            statements: Statements::new("simba_mutex", "tenure_schedule"),
            wire: Wire::new(call, true),
            place: "PostgreSQL at db:5432".into(),
            limits: Limits {
                call,
                connect: call,
                ping: call,
            },
            margin: call,
            notify: false,
        }
    }

    #[test]
    fn what_servers_of_every_version_say_is_understood() {
        use ErrorKind::{Conflict, Denied, NotFound, Store, Timeout, Unreachable};
        use Retry::{Later, Never};
        let postgres = postgres();
        let of = |code| meaning(&postgres, code, "it said so", None);
        for (code, kind, retry) in [
            // It starts or ends, is full, has a limit for this role.
            ("57P03", Unreachable, Later),
            ("53300", Unreachable, Later),
            ("53400", Unreachable, Later),
            // lock_timeout and NOWAIT; statement_timeout and pg_cancel_backend.
            ("55P03", Timeout, Later),
            ("57014", Timeout, Later),
            ("42501", Denied, Never),
            ("28P01", Denied, Never),
            ("28000", Denied, Never),
            // A database, a schema, a table.
            ("3D000", NotFound, Never),
            ("3F000", NotFound, Never),
            ("42P01", NotFound, Never),
            // A standby, or read-only for now.
            ("25006", Denied, Later),
            ("42703", Conflict, Never),
            ("23514", Conflict, Never),
            ("22001", Conflict, Never),
            // Unknown to us; no room on the disk.
            ("53100", Store, Later),
            ("XX000", Store, Later),
        ] {
            let Fault::Error(error) = of(code) else {
                panic!("{code} is told to the caller");
            };
            let judged = (error.kind(), error.retry(), error.outcome());
            assert_eq!(judged, (kind, retry, Outcome::DidNot), "{code}: {error}");
        }
        for code in ["40001", "40P01", "42P07", "42710"] {
            assert!(matches!(of(code), Fault::Race), "{code}");
        }
        // A name that two make at once is found by the catalogue; in a table of
        // ours it is none of these.
        let twice = |table| meaning(&postgres, "23505", "", Some(table));
        assert!(matches!(twice("pg_class"), Fault::Race));
        assert!(matches!(twice("simba_mutex"), Fault::Error(_)));
        // Idle for too long: 14 and later (57P05), in a transaction (25P03);
        // a transaction that took too long, 17 and later (25P04).
        for code in [
            "57P01", "57P02", "57P04", "57P05", "25P03", "25P04", "08007", "40003", "08006",
            "08P01",
        ] {
            assert!(matches!(of(code), Fault::Ended), "{code}");
        }
    }
}
