//! Owning for a while, and telling of it.

use std::time::Duration;

use tenure::model::{ContenderId, FencingToken, MutexName};
use tenure::{CombinationGuard, LossCause, Tenure};
use tenure_testkit::history::{TenureId, What};

use super::Worker;
use super::writer::Writer;

/// What is owned.
pub(super) enum Claim<'a> {
    Tenure(&'a Tenure),
    /// It has no token: it is numbered by the moment at which it was heard of.
    Combination(&'a CombinationGuard, &'a str),
}

impl Claim<'_> {
    /// For how long it is valid; nothing once it is over.
    pub(super) fn remaining(&self) -> Duration {
        match self {
            Claim::Tenure(tenure) if tenure.token().is_ok() => tenure.remaining(),
            Claim::Combination(guard, _) if !guard.is_lost() => guard.remaining(),
            _ => Duration::ZERO,
        }
    }

    fn id(&self, worker: &Worker, at: Duration) -> Option<TenureId> {
        Some(match self {
            Claim::Tenure(tenure) => TenureId {
                name: tenure.mutex().clone(),
                contender: tenure.contender().clone(),
                token: tenure.token().ok()?,
            },
            Claim::Combination(_, name) => TenureId {
                name: MutexName::new(name).ok()?,
                contender: ContenderId::new(&worker.orders.process).ok()?,
                token: FencingToken::from_value(u64::try_from(at.as_micros()).ok()?).ok()?,
            },
        })
    }

    async fn cause(&self) -> LossCause {
        match self {
            Claim::Tenure(tenure) => tenure.lost().await.cause,
            Claim::Combination(guard, _) => guard.lost().await.cause,
        }
    }
}

/// A tenure that was told of.
pub(super) struct Held {
    tenure: TenureId,
    began: Duration,
    deadline: Duration,
}

impl Held {
    /// Tells that it is owned, if it is.
    pub(super) fn begin(worker: &Worker, claim: &Claim<'_>) -> Option<Self> {
        // Read before the tenure is looked at: who is valid then was so at this moment.
        let began = worker.now();
        let remaining = claim.remaining();
        let tenure = claim.id(worker, began).filter(|_| !remaining.is_zero())?;
        let deadline = began + remaining;
        let granted = What::Granted {
            tenure: tenure.clone(),
            deadline,
        };
        worker.tell(began, granted);
        Some(Self {
            tenure,
            began,
            deadline,
        })
    }
}

/// Owns for some time; whether it is still owned then.
pub(super) async fn hold(worker: &Worker, writer: &mut Writer, claim: Claim<'_>) -> bool {
    match Held::begin(worker, &claim) {
        Some(held) => keep(worker, writer, held, claim).await,
        None => false,
    }
}

/// The same of a tenure that was told of. It is told to have ended before it is given back.
pub(super) async fn keep(
    worker: &Worker,
    writer: &mut Writer,
    held: Held,
    claim: Claim<'_>,
) -> bool {
    let end = held.began + length(worker);
    keep_until(worker, Some(writer), held, claim, |now| now >= end).await
}

/// The same until a moment of the holder's choice. Without a writer it uses nothing.
pub(super) async fn keep_until(
    worker: &Worker,
    mut writer: Option<&mut Writer>,
    held: Held,
    claim: Claim<'_>,
    is_over: impl Fn(Duration) -> bool,
) -> bool {
    let Held {
        tenure,
        mut deadline,
        ..
    } = held;
    loop {
        let now = worker.now();
        let remaining = claim.remaining();
        if remaining.is_zero() {
            let cause = claim.cause().await;
            worker.tell(
                now,
                What::Ended {
                    tenure: tenure.clone(),
                    cause,
                },
            );
            if let Some(writer) = writer {
                haunt(worker, writer, &tenure, &claim).await;
            }
            return false;
        }
        if now + remaining > deadline + Duration::from_millis(1) {
            deadline = now + remaining;
            let tenure = tenure.clone();
            worker.tell(now, What::Extended { tenure, deadline });
        }
        if is_over(now) {
            let cause = LossCause::Released;
            worker.tell(worker.now(), What::Ended { tenure, cause });
            return true;
        }
        let Some(writer) = &mut writer else {
            worker.rest(100).await;
            continue;
        };
        if worker.chance(|chance| chance.u8(0..3)) == 0 {
            writer.use_it(worker, &tenure, &claim).await;
        }
        worker.rest(25).await;
    }
}

/// A lost owner writes once more, as those do that have not looked at their tenure; and what is
/// lost must stay lost.
async fn haunt(worker: &Worker, writer: &mut Writer, tenure: &TenureId, claim: &Claim<'_>) {
    worker.rest(300).await;
    let now = worker.now();
    let remaining = claim.remaining();
    if !remaining.is_zero() {
        let (tenure, deadline) = (tenure.clone(), now + remaining);
        worker.tell(now, What::Extended { tenure, deadline });
    }
    writer.use_it(worker, tenure, claim).await;
}

/// Mostly short, now and then for longer than a lease.
fn length(worker: &Worker) -> Duration {
    match worker.chance(|chance| chance.u8(0..10)) {
        0 => worker.leases(1.0, 3.0),
        1 | 2 => worker.leases(0.3, 1.0),
        _ => worker.leases(0.0, 0.1),
    }
}
