//! Taking a lock, with words about it.

use std::time::Duration;

use tenure::model::MutexName;
use tenure::{Coordinator, Lock, LockGuard};

use super::waiting;
use crate::exit::{self, Failure};
use crate::hold::desk::Visit;
use crate::output::Voice;
use crate::supervise::HOLDERS;

/// Takes the lock `name`: at once or not at all, within a time, or whenever.
/// `None`, and a word about it, when another has it.
pub(crate) async fn take(
    name: &str,
    (no_wait, wait): (bool, Option<Duration>),
    coordinator: &Coordinator,
    voice: &Voice,
) -> Result<Option<LockGuard>, Failure> {
    let lock = coordinator.lock(name)?;
    refuse_waiting_for_ourselves(coordinator, lock.name()).await?;
    let acquired = async {
        match (no_wait, wait) {
            (true, _) => lock.try_acquire().await,
            (false, Some(wait)) => lock.acquire_within(wait).await,
            (false, None) => lock.acquire().await.map(Some),
        }
    };
    let acquired = tokio::select! {
        biased;
        acquired = acquired => acquired,
        () = waiting::show(coordinator, lock.name(), voice) => unreachable!("it shows for ever"),
    };
    voice.passing("");
    let guard = acquired?;
    if guard.is_none() {
        refused(coordinator, &lock, voice).await;
    }
    Ok(guard)
}

async fn refused(coordinator: &Coordinator, lock: &Lock, voice: &Voice) {
    let name = lock.name();
    voice.warn(&match coordinator.owner(name).await {
        Ok(Some(owner)) => format!(
            "not acquired: {name} is held by {}",
            waiting::described(&owner)
        ),
        Ok(None) | Err(_) => format!("not acquired: {name} was held by another"),
    });
}

/// A contender for the name inside a run of the same name would wait for its
/// own end, and so would one in a script that holds it.
pub(super) async fn refuse_waiting_for_ourselves(
    coordinator: &Coordinator,
    name: &MutexName,
) -> Result<(), Failure> {
    let runs = std::env::var(HOLDERS).unwrap_or_default();
    let runs = runs.lines().map(|line| {
        (
            line.to_owned(),
            "tenure around this one, which waits for this command",
        )
    });
    let holds = Visit::all().into_iter().filter_map(|visit| visit.held);
    let holds = holds.map(|held| {
        (
            held.contender,
            "script that this is part of, which waits for this command",
        )
    });
    let holders: Vec<(String, &str)> = runs.chain(holds).collect();
    if holders.is_empty() {
        return Ok(());
    }
    let Ok(Some(owner)) = coordinator.owner(name).await else {
        return Ok(()); // The one who takes the lock hears of the trouble.
    };
    let ours = holders
        .iter()
        .find(|(holder, _)| holder.as_str() == owner.id().as_str());
    match ours {
        None => Ok(()),
        Some((_, who)) => Err(Failure::new(
            exit::NOT_ACQUIRED,
            format!("{name} is held by the {who}: it would wait for itself for ever"),
        )),
    }
}
