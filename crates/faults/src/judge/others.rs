//! Whether what is wrong with one mutex stays with it.

use std::time::Duration;

use tenure::LossCause;
use tenure_testkit::history::{Event, TenureId, What};

use super::{Kind, Terms, Verdict};

/// What is told of a stranger that has the row of a mutex in hand: this, and its name.
pub const LOCKED: &str = "locked: ";

/// The mishaps in which that is all that happens.
pub const STRANGERS: [&str; 2] = [
    "row locked by a stranger",
    "one of many rows locked by a stranger",
];

/// Something that was wrong, and from when to when.
struct Fault<'a> {
    what: &'a str,
    from: Duration,
    until: Duration,
}

impl Fault<'_> {
    /// Whether it is a stranger's lock on the row of another mutex than `name`; `None` if it may
    /// hurt `name` itself.
    fn is_about_another(&self, name: &str) -> Option<bool> {
        match self.what.strip_prefix(LOCKED) {
            Some(locked) => (locked != name).then_some(true),
            None => STRANGERS.contains(&self.what).then_some(false),
        }
    }
}

/// A tenure is not lost because of a stranger that has the row of another mutex in hand.
///
/// Judged only where it can be seen that nothing else was wrong, for two leases before the loss:
/// nothing was broken or forgotten, every worker ran, and the server went on to grant or renew
/// for other workers.
pub(super) fn losses(events: &[Event], terms: Terms, verdict: &mut Verdict) {
    let faults = faults(events);
    if faults.iter().all(|fault| !fault.what.starts_with(LOCKED)) {
        return;
    }
    for event in events {
        let What::Ended { tenure, cause } = &event.what else {
            continue;
        };
        let name = tenure.name.as_str();
        let since = event.at.saturating_sub(2 * terms.lease);
        let present = faults
            .iter()
            .filter(|it| it.from <= event.at && it.until >= since);
        let strangers: Option<Vec<bool>> = present.map(|it| it.is_about_another(name)).collect();
        let is_calm = strangers.is_some_and(|strangers| strangers.contains(&true));
        if *cause == LossCause::Released || !is_calm || !is_served(events, event, tenure, terms) {
            continue;
        }
        let message = format!(
            "{} lost {} of {name:?} ({cause:?}) while nothing was wrong but the row of another",
            event.process, tenure.token
        );
        verdict.find(Kind::LostForAnother, name, (since, event.at), message);
    }
}

/// All that was wrong; what was not mended was wrong until the end.
fn faults(events: &[Event]) -> Vec<Fault<'_>> {
    let mut faults: Vec<Fault<'_>> = Vec::new();
    for event in events {
        match &event.what {
            What::Fault {
                what,
                is_over: false,
            } => faults.push(Fault {
                what,
                from: event.at,
                until: Duration::MAX,
            }),
            What::Fault {
                what,
                is_over: true,
            } => {
                let is_it = |it: &&mut Fault<'_>| it.what == &**what && it.until == Duration::MAX;
                if let Some(fault) = faults.iter_mut().rev().find(is_it) {
                    fault.until = event.at;
                }
            }
            What::Forgot { since } => faults.push(Fault {
                what: "forgot",
                from: *since,
                until: event.at,
            }),
            _ => {}
        }
    }
    faults
}

/// Whether the server granted to others or renewed for them all the time in which the tenure was
/// not renewed.
fn is_served(events: &[Event], lost: &Event, tenure: &TenureId, terms: Terms) -> bool {
    const PARTS: u32 = 4;
    let since = lost.at.saturating_sub(terms.belief);
    let is_others = |event: &&Event| {
        let (What::Granted { tenure: other, .. } | What::Extended { tenure: other, .. }) =
            &event.what
        else {
            return false;
        };
        event.process != lost.process && other.name != tenure.name
    };
    let signs: Vec<_> = events.iter().filter(is_others).map(|it| it.at).collect();
    (0..PARTS).all(|part| {
        let from = since + terms.belief * part / PARTS;
        let until = since + terms.belief * (part + 1) / PARTS;
        signs.iter().any(|at| (from..=until).contains(at))
    })
}
