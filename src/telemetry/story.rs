//! The events of one contention's life.
//!
//! An office makes a few lines an hour at INFO. What is lost is worth a look,
//! so it is a WARN for all.

use std::time::Duration;

use super::Subject;
use crate::error::{Error, LossCause};
use crate::model::{ContenderId, FencingToken, MutexName};

/// An event of `$of`: at DEBUG as `$lock` for a lock, at INFO as `$office`
/// for everything else.
macro_rules! story {
    ($of:expr, $lock:literal, $office:literal, { $($fields:tt)* }) => {
        if $of.is_quiet() {
            tracing::debug!(
                target: "tenure::life",
                purpose = $of.purpose.word(), mutex = %$of.mutex, contender = %$of.contender,
                store = $of.store, $($fields)*
                $lock
            );
        } else {
            tracing::info!(
                target: "tenure::life",
                purpose = $of.purpose.word(), mutex = %$of.mutex, contender = %$of.contender,
                store = $of.store, $($fields)*
                $office
            );
        }
    };
}

/// Another owns it.
pub(crate) fn waits(of: &Subject<'_>, owner: Option<&ContenderId>) {
    story!(of, "waiting", "waiting", { owner = owner.map(tracing::field::display), });
}

pub(crate) fn owns(of: &Subject<'_>, token: FencingToken, waited: Duration) {
    story!(of, "acquired", "elected", { token = %token, ?waited, });
}

pub(crate) fn extended(of: &Subject<'_>, token: FencingToken) {
    tracing::trace!(
        target: "tenure::life",
        purpose = of.purpose.word(), mutex = %of.mutex, contender = %of.contender,
        store = of.store, token = %token,
        "extended"
    );
}

/// It does not own any more, and did not wish so.
pub(crate) fn lost(of: &Subject<'_>, token: FencingToken, cause: LossCause, held: Duration) {
    tracing::warn!(
        target: "tenure::life",
        purpose = of.purpose.word(), mutex = %of.mutex, contender = %of.contender,
        store = of.store, token = %token, cause = cause.word(), ?held,
        "lost"
    );
}

/// It has given back what it owned; `outcome` says what the store says to that.
pub(crate) fn gave_back(
    of: &Subject<'_>,
    token: FencingToken,
    outcome: &'static str,
    cause: LossCause,
    held: Duration,
) {
    story!(of, "released", "resigned", {
        token = %token, outcome, cause = cause.word(), ?held,
    });
}

/// It stands no more, and did not own.
pub(crate) fn withdrew(of: &Subject<'_>) {
    story!(of, "stopped waiting", "stands no more", {});
}

/// A lock went from one task of this process to the next, without the store.
pub(crate) fn handed_on(mutex: &MutexName, token: FencingToken) {
    tracing::debug!(target: "tenure::life", purpose = "lock", mutex = %mutex, token = %token, "handed on");
}

/// The first of a coordinator's tries has failed.
pub(crate) fn store_failed(error: &Error) {
    let source = std::error::Error::source(error).map(tracing::field::display);
    tracing::warn!(
        target: "tenure::store",
        kind = ?error.kind(), outcome = ?error.outcome(), source, error = %error,
        "the store is in trouble"
    );
}

/// The store has answered, and none of a coordinator's tries fails any more.
pub(crate) fn store_well() {
    tracing::info!(target: "tenure::store", "the store is well again");
}
