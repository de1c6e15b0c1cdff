//! What the driver says, as [`Error`]s.

use redis::{ErrorKind as Driver, RedisError, ServerErrorKind};

use crate::error::{Error, ErrorKind, Outcome, Retry};

const NO_PERMISSION: Driver = Driver::Server(ServerErrorKind::NoPerm);

/// How servers say NOPERM of a command inside a script: version 7, and later
/// ones of Redis and Valkey.
const DENIED_INSIDE: [&str; 2] = [
    "The user executing the script can't",
    "ACL failure in script",
];

/// The error for a call that failed with `error`.
///
/// An error that the server gives before it runs anything changed nothing; a
/// broken connection, and a permission that lacks in the middle of a script,
/// leave the outcome open.
pub(super) fn fault(error: RedisError) -> Error {
    let (kind, outcome, retry, message) = judge(&error);
    let made = Error::new(kind, outcome).with_message(message);
    let made = match retry {
        Some(retry) => made.with_retry(retry),
        None => made,
    };
    made.with_source(error)
}

type Judgement = (ErrorKind, Outcome, Option<Retry>, String);

fn judge(error: &RedisError) -> Judgement {
    use Outcome::{DidNot, MayHave};
    let said = said(error);
    let code = error.code().unwrap_or_default().to_owned();
    let store = |message: String| (ErrorKind::Store, DidNot, None, message);
    match (error.kind(), code.as_str()) {
        (Driver::AuthenticationFailed, _) | (_, "WRONGPASS" | "NOAUTH") => (
            ErrorKind::Denied,
            DidNot,
            None,
            format!("Redis refused the user or the password: {said}"),
        ),
        (kind, _) if kind == NO_PERMISSION && is_before_anything(&said) => {
            (ErrorKind::Denied, DidNot, None, lacking(&said))
        }
        (kind, _) if kind == NO_PERMISSION || DENIED_INSIDE.iter().any(|it| said.contains(it)) => {
            (ErrorKind::Denied, MayHave, None, lacking(&said))
        }
        (_, "WRONGTYPE") => (
            ErrorKind::Conflict,
            DidNot,
            None,
            "a key of this mutex holds something else: another program uses the name; choose \
             another mutex name or set the option \"prefix\""
                .to_owned(),
        ),
        (Driver::Server(ServerErrorKind::ReadOnly), _) => store(
            "this Redis server is a replica and takes no writes: name the master, or let \
             redis+sentinel:// find it"
                .to_owned(),
        ),
        (_, "OOM") => store(format!(
            "Redis has no memory left for a new lock; raise maxmemory or remove keys: {said}"
        )),
        (Driver::Server(ServerErrorKind::BusyLoading), _) => {
            store("Redis is still loading its data".to_owned())
        }
        (_, "BUSY") => store("Redis is busy with somebody's slow script".to_owned()),
        (_, "MISCONF") => store(format!(
            "Redis cannot save its data and takes no writes: {said}"
        )),
        (_, "NOREPLICAS") => store(format!("Redis has too few replicas to write: {said}")),
        (
            Driver::Server(
                ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::NoScript,
            ),
            _,
        ) => store(format!("Redis cannot serve this key now: {said}")),
        (Driver::Server(ServerErrorKind::CrossSlot), _) => store(said),
        (Driver::InvalidClientConfig, _) => (ErrorKind::Invalid, DidNot, None, said),
        (Driver::RESP3NotSupported, _) => (
            ErrorKind::Invalid,
            DidNot,
            None,
            "this server does not speak RESP3: Redis 6 or later is needed".to_owned(),
        ),
        (Driver::Io, _) if error.is_connection_refusal() => (
            ErrorKind::Unreachable,
            DidNot,
            None,
            format!("Redis cannot be reached: {said}"),
        ),
        (Driver::Io, _) => (
            ErrorKind::Unreachable,
            MayHave,
            None,
            format!("the connection to Redis failed: {said}"),
        ),
        _ => (
            ErrorKind::Store,
            MayHave,
            None,
            format!("Redis said: {said}"),
        ),
    }
}

fn lacking(said: &str) -> String {
    format!(
        "the Redis user lacks a permission ({said}); docs/stores/redis.md has the ACL that is \
         enough"
    )
}

/// Whether it was the script itself that was not let in: nothing of it ran.
fn is_before_anything(said: &str) -> bool {
    let is_inside = said.contains("script: ");
    let of_scripts = ["'eval'", "'evalsha'", "'script|load'", "'script'"];
    !is_inside && of_scripts.iter().any(|name| said.contains(name))
}

/// What the server said, without the driver's words around it.
fn said(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    }
}

/// The connection went while the answer was awaited.
pub(super) fn gone() -> Error {
    Error::new(ErrorKind::Unreachable, Outcome::MayHave)
        .with_message("the connection to Redis went before the answer came")
}

/// What is closed by a close.
pub(super) const CLIENT: &str = "this client of Redis";

pub(super) fn closed() -> Error {
    Error::closed(CLIENT)
}

/// An answer that makes no sense.
pub(super) fn nonsense(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Store, Outcome::MayHave)
        .with_message(format!("Redis answered what was not expected: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(line: &str) -> (ErrorKind, Outcome, Retry) {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes());
        let error = match value {
            Ok(redis::Value::ServerError(error)) => fault(error.into()),
            Err(error) => fault(error),
            Ok(other) => panic!("{other:?}"),
        };
        (error.kind(), error.outcome(), error.retry())
    }

    #[test]
    fn a_script_that_was_not_let_in_did_nothing() {
        let denied = |command: &str, rest: &str| {
            let said =
                format!("NOPERM User t has no permissions to run the '{command}' command{rest}");
            judged(&said)
        };
        let (denies, never) = (ErrorKind::Denied, Retry::Never);
        for command in ["eval", "evalsha", "script|load"] {
            assert_eq!(denied(command, ""), (denies, Outcome::DidNot, never));
        }
        assert_eq!(denied("set", ""), (denies, Outcome::MayHave, never));
        let inside = denied("eval", " script: 9f2e, on @user_script:20.");
        assert_eq!(inside, (denies, Outcome::MayHave, never));
    }

    #[test]
    fn what_servers_of_every_version_say_is_understood() {
        use ErrorKind::{Conflict, Denied, Store};
        use Outcome::{DidNot, MayHave};
        let script = " script: 9f2e, on @user_script:20.";
        for (said, kind, outcome) in [
            // Redis 6 and 7, inside and outside of a script.
            (
                "NOPERM this user has no permissions to run the 'set' command",
                Denied,
                MayHave,
            ),
            (
                "ERR The user executing the script can't run this command or subcommand",
                Denied,
                MayHave,
            ),
            // Redis 8 and Valkey 8.
            (
                "ERR ACL failure in script: User tenure has no permissions to run the 'set' command",
                Denied,
                MayHave,
            ),
            (
                "ERR ACL failure in script: No permissions to access a key",
                Denied,
                MayHave,
            ),
            (
                "NOPERM User tenure has no permissions to run the 'wait' command",
                Denied,
                MayHave,
            ),
            (
                "WRONGPASS invalid username-password pair or user is disabled.",
                Denied,
                DidNot,
            ),
            ("NOAUTH Authentication required.", Denied, DidNot),
            (
                "WRONGTYPE Operation against a key holding the wrong kind of value",
                Conflict,
                DidNot,
            ),
            (
                "READONLY You can't write against a read only replica.",
                Store,
                DidNot,
            ),
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                Store,
                DidNot,
            ),
            (
                "LOADING Valkey is loading the dataset in memory",
                Store,
                DidNot,
            ),
            (
                "BUSY Valkey is busy running a script. You can only call SCRIPT KILL",
                Store,
                DidNot,
            ),
            (
                "NOREPLICAS Not enough good replicas to write.",
                Store,
                DidNot,
            ),
            (
                "MISCONF Valkey is configured to save RDB snapshots",
                Store,
                DidNot,
            ),
            ("CLUSTERDOWN The cluster is down", Store, DidNot),
        ] {
            for said in [said.to_owned(), format!("{said}{script}")] {
                let (seen, did, retry) = judged(&said);
                assert_eq!((seen, did), (kind, outcome), "{said}");
                let gives_up = kind != Store;
                assert_eq!(retry == Retry::Never, gives_up, "{said}: {retry:?}");
            }
        }
    }
}
