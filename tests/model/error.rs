//! `Error` and `LeaseLost`.

use std::error::Error as _;
use std::io;

use tenure::{Error, ErrorKind, LeaseLost, LossCause, Outcome, Retry};

use super::{id, name, token};

const KINDS: [(ErrorKind, Retry); 11] = [
    (ErrorKind::Invalid, Retry::Never),
    (ErrorKind::Unreachable, Retry::Later),
    (ErrorKind::Timeout, Retry::Later),
    (ErrorKind::Denied, Retry::Never),
    (ErrorKind::NotFound, Retry::Never),
    (ErrorKind::Conflict, Retry::Never),
    (ErrorKind::Lost, Retry::Never),
    (ErrorKind::Unconfirmed, Retry::Later),
    (ErrorKind::Closed, Retry::Never),
    (ErrorKind::WrongState, Retry::Never),
    (ErrorKind::Store, Retry::Later),
];

fn lost(cause: LossCause) -> LeaseLost {
    LeaseLost::new(name("m"), Some(token(7)), cause)
}

#[test]
fn every_kind_has_advice_and_words_of_its_own() {
    let mut words = std::collections::HashSet::new();
    for (kind, retry) in KINDS {
        for outcome in [Outcome::DidNot, Outcome::Did, Outcome::MayHave] {
            let error = Error::new(kind, outcome);
            assert_eq!((error.kind(), error.outcome()), (kind, outcome));
            assert_eq!(error.retry(), retry, "{kind:?}");
            assert_eq!(error.may_have_happened(), outcome != Outcome::DidNot);
            assert_eq!((error.mutex(), error.contender()), (None, None));
            assert!(error.source().is_none());
        }
        let plain = Error::new(kind, Outcome::DidNot).to_string();
        assert!(!plain.is_empty() && words.insert(plain));
    }
}

#[test]
fn advice_can_be_overruled() {
    let deadlock = Error::new(ErrorKind::Store, Outcome::DidNot).with_retry(Retry::AtOnce);
    assert_eq!(deadlock.retry(), Retry::AtOnce);
    assert_eq!(deadlock.kind(), ErrorKind::Store);
}

#[test]
fn bad_input_had_no_effect_and_no_retry_helps() {
    let error = Error::invalid("write it so");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.outcome(), Outcome::DidNot);
    assert_eq!(error.retry(), Retry::Never);
    assert_eq!(error.to_string(), "write it so");
}

#[test]
fn a_message_names_the_mutex_and_the_contender() {
    let error = || Error::invalid("no");
    let (mutex, contender) = (name("m"), id("c"));
    assert_eq!(error().with_mutex(&mutex).to_string(), "no (mutex \"m\")");
    assert_eq!(
        error().with_contender(&contender).to_string(),
        "no (contender \"c\")"
    );
    let both = error().with_mutex(&mutex).with_contender(&contender);
    assert_eq!(both.to_string(), "no (mutex \"m\", contender \"c\")");
    assert_eq!(
        (both.mutex(), both.contender()),
        (Some(&mutex), Some(&contender))
    );
}

#[test]
fn the_source_is_kept_and_shared_by_clones() {
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    let error = Error::new(ErrorKind::Unreachable, Outcome::MayHave)
        .with_message("gone")
        .with_mutex(&name("m"))
        .with_retry(Retry::AtOnce)
        .with_source(reset);
    for error in [error.clone(), error] {
        let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
        assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(error.retry(), Retry::AtOnce);
        assert_eq!(error.to_string(), "gone (mutex \"m\")");
        let debug = format!("{error:?}");
        for part in ["Unreachable", "MayHave", "gone", "ConnectionReset"] {
            assert!(debug.contains(part), "{part} is not in {debug}");
        }
    }
}

#[test]
fn a_chain_of_errors_can_be_followed_to_its_end() {
    let inner =
        Error::new(ErrorKind::Timeout, Outcome::MayHave).with_source(io::Error::other("the last"));
    let outer = Error::new(ErrorKind::Unconfirmed, Outcome::MayHave).with_source(inner);
    let middle = outer.source().unwrap();
    assert_eq!(
        middle.downcast_ref::<Error>().unwrap().kind(),
        ErrorKind::Timeout
    );
    assert_eq!(middle.source().unwrap().to_string(), "the last");
}

#[test]
fn errors_travel() {
    fn travels<T: std::error::Error + Clone + Send + Sync + Unpin + 'static>() {}
    travels::<Error>();
    travels::<LeaseLost>();
    assert_eq!(size_of::<Error>(), size_of::<usize>(), "cheap in a Result");
}

#[test]
fn a_lost_lease_says_what_was_lost_and_why() {
    for (cause, why) in [
        (LossCause::Deadline, "deadline passed"),
        (LossCause::Taken, "given it to another"),
        (LossCause::Released, "was released"),
        (LossCause::Closed, "was closed"),
        (LossCause::Unclaimed, "nobody picked it up"),
        (LossCause::ClockJump, "clock jumped"),
        (LossCause::Forked, "a fork"),
    ] {
        let text = lost(cause).to_string();
        for part in ["\"m\"", "7168", why] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}

#[test]
fn a_lost_lease_becomes_an_error_with_question_mark() {
    fn work() -> tenure::Result<()> {
        Err(lost(LossCause::Taken))?
    }
    let error = work().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert_eq!(error.outcome(), Outcome::DidNot);
    assert_eq!(error.retry(), Retry::Never);
    assert_eq!(error.mutex(), Some(&name("m")));
    assert_eq!(
        error.to_string(),
        "the tenure with token 7168 is over: the store has given it to another (mutex \"m\")"
    );
    let source = error.source().unwrap().downcast_ref::<LeaseLost>();
    assert_eq!(source, Some(&lost(LossCause::Taken)));
}
