//! Who reads what.

use std::hint::black_box;

use tenure::backend::LedgerEntry;
use tenure::stores::{StoreOptions, check, mysql, redis, zookeeper};

use tenure_dashboard::site::fuzzing::{MUTEX, TOKEN, visit};

use crate::input::Input;
use crate::orders::{Order, Word};

/// A store's URL, for every store: it is understood or refused, and its password is not
/// shown either way.
pub(crate) fn urls(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let said = match text.parse::<StoreOptions>() {
        Ok(options) => format!("{options:?} {:?}", check(&options)),
        Err(error) => format!("{error} {error:?}"),
    };
    if let Some(secret) = password(text) {
        assert!(!said.contains(secret), "{secret:?} is in {said}");
    }
}

/// The password of a URL that has one which could not stand in it for another reason.
fn password(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let (authority, _) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    let (user, _) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric();
    let is_told = password.len() >= 12 && password.bytes().all(is_plain);
    (is_told && text.matches(password).count() == 1).then_some(password)
}

/// What a Redis server answers, calls its keys, and says on channels.
pub(crate) fn redis(bytes: &[u8]) {
    redis::fuzzing::answers(bytes);
    redis::fuzzing::keys_and_messages(bytes);
}

/// A row of the mutex table, and the number that a take leaves.
pub(crate) fn sql(bytes: &[u8]) {
    let mut input = Input(bytes);
    let [id, about] = input.numbers();
    mysql::fuzzing::stamp(id, about);
    let numbers = input.numbers();
    mysql::fuzzing::row(numbers, input.texts());
}

/// The names of ZooKeeper's nodes.
pub(crate) fn zookeeper(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        zookeeper::fuzzing::nodes(text);
    }
}

/// A schedule's ledger, as a node, a row or a hash.
pub(crate) fn ledger(bytes: &[u8]) {
    let mut input = Input(bytes.get(1..).unwrap_or_default());
    let entry = match bytes.first().map_or(0, |byte| byte % 3) {
        0 => zookeeper::fuzzing::ledger(input.0),
        1 => redis::fuzzing::ledger(input.0),
        _ => {
            let numbers = input.numbers();
            mysql::fuzzing::ledger(numbers, input.texts())
        }
    };
    let Some(entry) = entry else { return };
    // What is read stands for itself: its note says what it says already.
    let note = entry.note().unwrap_or_default();
    let again: LedgerEntry = entry.clone().with_note(&note);
    assert_eq!(again, entry, "{note:?}");
    black_box(format!("{entry:?}"));
}

/// What a guardian is told, and what it says.
pub(crate) fn guardian(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        let order = Order::parse(line);
        if let Some(Order::Among {
            ancestor, command, ..
        }) = &order
        {
            // Zero is one's own group, and below that are others.
            let pids = [ancestor, command].map(|pid| pid.as_raw_pid());
            assert!(pids.iter().all(|pid| *pid > 0), "{line:?}");
        }
        black_box(order);
        let word = Word::parse(line.as_bytes());
        if let Word::Refused(pid) | Word::Ready(Some(pid)) = word {
            assert!(pid.as_raw_pid() > 0, "{line:?}");
        }
        black_box(word);
    }
}

/// The `Host` that a browser sends.
pub(crate) fn http(bytes: &[u8]) {
    let Ok(host) = str::from_utf8(bytes) else {
        return;
    };
    if tenure_dashboard::host::is_this_host(host) {
        // Nothing that a name server could have been asked for.
        let lower = host.to_ascii_lowercase();
        let is_address = lower.starts_with("127.") || lower.starts_with('[');
        assert!(is_address || lower.starts_with("localhost"), "{host:?}");
        let is_of_hosts = |byte: u8| byte.is_ascii_alphanumeric() || b".:[]".contains(&byte);
        assert!(host.bytes().all(is_of_hosts), "{host:?}");
    }
}

/// Whole requests, to the dashboard as it is: one that everybody may read, and one that wants a
/// token. Each is answered, and by what it may be; who does not know the token learns nothing.
pub(crate) fn requests(bytes: &[u8]) {
    let Some((first, request)) = bytes.split_first() else {
        return;
    };
    let needs_token = first % 2 == 1;
    let visit = visit(needs_token, request);
    let answer = String::from_utf8_lossy(&visit.answer);
    if let Some(line) = answer.lines().next() {
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
        let status: u16 = status.and_then(|it| it.parse().ok()).unwrap_or_default();
        // The store is well: nothing here is the server's fault.
        let is_known = (200..500).contains(&status) || status == 505;
        assert!(is_known, "{line} to {}", request.escape_ascii());
    }
    let has = |bytes: &[u8], text: &str| {
        let mut windows = bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    };
    if needs_token && !has(request, TOKEN) {
        assert!(visit.is_held, "freed by {}", request.escape_ascii());
        let is_told = !has(request, MUTEX) && has(&visit.answer, MUTEX);
        assert!(!is_told, "{answer} to {}", request.escape_ascii());
        assert!(!has(&visit.answer, TOKEN), "{answer}");
    }
    assert!(needs_token || visit.is_held, "{}", request.escape_ascii());
}
