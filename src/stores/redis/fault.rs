//! What the driver says, as [`Error`]s.

use redis::{ErrorKind as Driver, RedisError, ServerErrorKind};

use crate::error::{Error, ErrorKind, Outcome, Retry};

const NO_PERMISSION: Driver = Driver::Server(ServerErrorKind::NoPerm);

/// How servers of version 7 say NOPERM of a command inside a script.
const DENIED_INSIDE: &str = "The user executing the script can't";

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
        (kind, _) if kind == NO_PERMISSION || said.contains(DENIED_INSIDE) => (
            ErrorKind::Denied,
            MayHave,
            None,
            format!(
                "the Redis user lacks a permission ({said}); docs/stores/redis.md has the ACL \
                 that is enough"
            ),
        ),
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

pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Closed, Outcome::DidNot)
        .with_message("this client of Redis has been closed")
}

/// An answer that makes no sense.
pub(super) fn nonsense(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Store, Outcome::MayHave)
        .with_message(format!("Redis answered what was not expected: {what}"))
}
