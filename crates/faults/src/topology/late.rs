//! Faults that wait for what the workers did: a request arrives when its sender has been granted
//! anew, an owner falls silent right after it has said something of what it owns.

use std::thread::sleep;
use std::time::Duration;

use tenure_testkit::servers::{Proxy, ServerError};

use super::ways::Ways;
use super::{Mishap, Scene};
use crate::fleet::Fleet;
use crate::sight;

/// For how many leases something is waited for.
const LIMIT: u32 = 3;

/// How often a proxy is asked whether it has seen what it waits for.
const PAUSE: Duration = Duration::from_millis(2);

/// What an owner says is on its way until it owns the same mutex again, one of `names`, though it
/// was given up long before.
pub(super) fn requests_late<'a>(
    ways: &'a Ways,
    fleet: &'a Fleet,
    names: &'static [&'static str],
    lease: Duration,
) -> Mishap<'a> {
    Mishap::new("requests late until granted anew", move |scene| {
        let name = names[scene.one(names.len())];
        let at = granted_anew(fleet, scene, &[name], None, lease)?;
        ways[at].iter().for_each(Proxy::hold_back);
        let anew = granted_anew(fleet, scene, &[name], Some(at), lease);
        arrives(fleet, anew, &ways[at], lease)
    })
}

/// The worker that is granted one of `names` from now on: this one, or any.
pub(super) fn granted_anew(
    fleet: &Fleet,
    scene: &Scene<'_>,
    names: &[&str],
    which: Option<usize>,
    lease: Duration,
) -> Result<usize, ServerError> {
    let (log, moment) = (scene.log, scene.log.now());
    let seen = log.wait(lease * LIMIT, |events| {
        let mut workers = 0..fleet.size();
        workers.find(|at| {
            let granted = |name: &&str| sight::granted(events, fleet.name(*at), name, moment);
            which.is_none_or(|which| which == *at) && names.iter().any(granted)
        })
    });
    seen.ok_or_else(|| ServerError::new(format!("nothing of {names:?} was granted")))
}

/// What was held back on `ways` arrives. The worker that has just been `granted` something is
/// stopped where it stands: it owns for as long as it believes, and others have time to come.
pub(super) fn arrives<'a>(
    fleet: &Fleet,
    granted: Result<usize, ServerError>,
    ways: impl IntoIterator<Item = &'a Proxy>,
    lease: Duration,
) -> Result<(), ServerError> {
    let stopped = granted.and_then(|at| match fleet.stop(at) {
        true => Ok(at),
        false => Err(ServerError::new("the worker is dead")),
    });
    let healed = ways.into_iter().try_for_each(Proxy::heal);
    if let Ok(at) = stopped {
        sleep(lease);
        fleet.go_on(at);
    }
    stopped.map(drop).and(healed)
}

/// What an owner says of one mutex, one of `names`, is late: the store hears of it a request at a
/// time, just before the lease would be over, and of the rest when the worker, which had given up
/// long before, has been granted the mutex anew. What it says of others is not late.
pub(super) fn one_by_one<'a>(
    ways: &'a Ways,
    fleet: &'a Fleet,
    names: &'static [&'static str],
    lease: Duration,
) -> Mishap<'a> {
    Mishap::new("requests of one mutex late, one by one", move |scene| {
        let name = names[scene.one(names.len())];
        let log = scene.log;
        // One that has owned for a while goes on for long enough to renew.
        let owner = log.wait(lease * LIMIT, |events| {
            let now = log.now();
            let mut owned = sight::owned(events, now).into_iter();
            owned.find(|it| it.tenure.name.as_str() == name && it.since + lease / 4 < now)
        });
        let owner = owner.ok_or_else(|| ServerError::new(format!("{name:?} is not kept")))?;
        let at = (0..fleet.size()).find(|at| fleet.name(*at) == owner.worker);
        let ways = &ways[at.ok_or_else(|| ServerError::new("a stranger owns"))?];
        let late = |words| ways.iter().for_each(|way| way.hold_back_words(words));
        late(Some(name.as_bytes()));
        let until = |moment: Duration| sleep(moment.saturating_sub(log.now()));
        let deadline = |events: &[_]| sight::deadline(events, &owner.tenure);
        // Extended meanwhile by what was on its way already.
        sleep(lease / 4);
        let over = log.look(deadline).unwrap_or(owner.deadline);
        until(over - lease / 10);
        ways.iter().for_each(Proxy::let_one_arrive);
        let ended = log.wait(lease, |events| sight::ended(events, &owner.tenure));
        until(over + lease * 3 / 4);
        ways.iter().for_each(Proxy::let_one_arrive);
        // It gives up what it could not give back.
        until(ended.unwrap_or(over) + lease + lease / 20);
        late(None);
        let granted = granted_anew(fleet, scene, &[name], at, lease);
        arrives(fleet, granted, ways, lease)
    })
}

/// Waits until a proxy has seen what it waits for.
pub(super) fn seen(way: &Proxy, lease: Duration) -> Result<(), ServerError> {
    let begun = std::time::Instant::now();
    while way.is_waiting() {
        if begun.elapsed() > lease * LIMIT {
            return Err(ServerError::new("what was waited for did not come"));
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// An owner falls silent right after it has said something of what it owns, one of `names`, of which
/// the last is the schedule: there is most to say of that. As chance will, the server never hears of
/// the end of what it has begun.
pub(super) fn silent_owner<'a>(
    ways: &'a Ways,
    fleet: &'a Fleet,
    names: &'static [&'static str],
    lease: Duration,
) -> Mishap<'a> {
    Mishap::new("owner silent after a message", move |scene| {
        let last = names.len() - 1;
        let name = names[scene.one(2 * last).min(last)];
        let is_forgotten = scene.one(4) > 0;
        if is_forgotten {
            // Those that were forgotten before, or the server would soon have no session left.
            ways.iter().flatten().try_for_each(Proxy::cut)?;
        }
        let (log, moment) = (scene.log, scene.log.now());
        let owner = log.wait(lease * LIMIT, |events| {
            let mut workers = 0..fleet.size();
            workers.find(|at| sight::has_turn(events, fleet.name(*at), name, moment))
        });
        let at = owner.ok_or_else(|| ServerError::new(format!("no worker has {name:?}")))?;
        let ways = &ways[at];
        // What is said for the first time on a connection is prepared first.
        let requests = scene.chance.u64(1..6);
        ways.iter()
            .for_each(|way| way.partition_after_words(name.as_bytes(), requests));
        let said = seen(&ways[0], lease);
        scene.wait(1.0);
        if is_forgotten {
            ways.iter().for_each(Proxy::silence);
        }
        ways.iter().try_for_each(Proxy::heal)?;
        said
    })
}
