//! The driver's errors as ours.

use zookeeper_client::Error as Fault;

use crate::error::{Error, ErrorKind, Outcome, Retry};

/// What went wrong with a request that only reads.
pub(super) fn read(fault: Fault) -> Error {
    error(fault, Outcome::DidNot)
}

/// What went wrong with a request that writes: unless the server itself
/// refused it, it may have been done.
pub(super) fn write(fault: Fault) -> Error {
    error(fault, Outcome::MayHave)
}

fn error(fault: Fault, unanswered: Outcome) -> Error {
    let did_not = Outcome::DidNot;
    let error = match &fault {
        Fault::NoAuth => Error::new(ErrorKind::Denied, did_not).with_message(
            "ZooKeeper denied access: the nodes' ACL does not allow this user \
             (zookeeper://user:password@host)",
        ),
        Fault::AuthFailed => Error::new(ErrorKind::Denied, did_not)
            .with_message("ZooKeeper refused the credentials of the URL"),
        Fault::InvalidAcl => Error::new(ErrorKind::Denied, did_not).with_message(
            "ZooKeeper refused the ACL: acl=creator needs a user and password in the URL",
        ),
        Fault::BadArguments(why) => Error::invalid(format!("ZooKeeper cannot do this: {why}")),
        Fault::NotReadOnly | Fault::Throttled => Error::new(ErrorKind::Unreachable, did_not)
            .with_message("this ZooKeeper server does not take requests at the moment"),
        Fault::SessionExpired | Fault::SessionMoved | Fault::ClientClosed => {
            Error::new(ErrorKind::Unreachable, unanswered)
                .with_message("the ZooKeeper session is over; a new one is being made")
        }
        Fault::ConnectionLoss
        | Fault::Timeout
        | Fault::NoHosts
        | Fault::UnexpectedError(_)
        | Fault::UnmarshalError { .. }
        | Fault::Custom(_) => Error::new(ErrorKind::Unreachable, unanswered)
            .with_message("the connection to ZooKeeper was lost"),
        // A failure inside the server: it may have come after the deed.
        Fault::UnexpectedErrorCode(code) => Error::new(ErrorKind::Store, unanswered)
            .with_message(format!("ZooKeeper answered with the error {code}")),
        Fault::Unimplemented => Error::new(ErrorKind::Store, did_not)
            .with_message("this server is too old: ZooKeeper 3.5.3 or later is needed")
            .with_retry(Retry::Never),
        _ => Error::new(ErrorKind::Store, did_not)
            .with_message(format!("ZooKeeper answered with an error: {fault}")),
    };
    error.with_source(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_server_itself_refused_did_not_happen() {
        for fault in [Fault::NoAuth, Fault::Throttled, Fault::QuotaExceeded] {
            assert!(!write(fault).may_have_happened());
        }
        for fault in [
            Fault::ConnectionLoss,
            Fault::SessionExpired,
            Fault::UnexpectedErrorCode(-1),
        ] {
            assert!(!read(fault.clone()).may_have_happened());
            assert!(write(fault).may_have_happened());
        }
    }
}
