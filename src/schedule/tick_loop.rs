//! [`TickLoop`]: what a leader does while in office.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::job::{Failure, Unfinished, Work};
use super::ledger_view::{LedgerView, Next, Refusal, about};
use super::life::SchedulerParts;
use super::status::{NextRun, RunOutcome};
use super::tick::Tick;
use crate::backend::{Claim, ClaimAnswer, TickEnd};
use crate::engine::Tenure;
use crate::error::Result;
use crate::model::StoreTime;
use crate::telemetry::NameMeters;

/// Tick after tick, while in office. Its future is dropped at the loss of the
/// office.
pub(super) struct TickLoop<'a> {
    pub(super) scheduler: &'a SchedulerParts,
    pub(super) tenure: &'a Tenure,
    pub(super) worker: &'a str,
    /// No new run is to begin.
    pub(super) stopping: &'a CancellationToken,
}

/// Why it ended of itself.
#[derive(Debug)]
pub(super) enum TickLoopEnd {
    /// It was asked to.
    Stopped,
    /// The store says that the grant is gone, or of no use.
    Deposed,
}

impl TickLoop<'_> {
    /// Runs tick after tick.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when the schedule follows
    /// another plan.
    pub(super) async fn run(&self, work: &mut impl Work) -> Result<TickLoopEnd> {
        let (scheduler, tenure) = (self.scheduler, self.tenure);
        let entry = tokio::select! {
            biased;
            entry = scheduler.ledger.read() => entry,
            () = self.stopping.cancelled() => return Ok(TickLoopEnd::Stopped),
        };
        if let Some(entry) = &entry {
            // Another may have run it since this process looked.
            scheduler.tell_last_success(entry);
        }
        let token = tenure.grant().token;
        let mut view = LedgerView::open(&scheduler.config, token, tenure.store_now(), entry)
            .map_err(about(&scheduler.name))?;
        self.report(&view);
        loop {
            if let Some(plan) = view.plan() {
                let written = tokio::select! {
                    biased;
                    written = self.claim(&mut view, &plan) => written?,
                    () = self.stopping.cancelled() => return Ok(TickLoopEnd::Stopped),
                };
                match written {
                    Claimed::Ours => {}
                    Claimed::PlanAnew => continue,
                    Claimed::Deposed => return Ok(TickLoopEnd::Deposed),
                }
            }
            let Some(next) = view.next(tenure.store_now()) else {
                // A cron expression whose last year has passed.
                scheduler.board.status().next_run = None;
                tracing::warn!(
                    target: "tenure::schedule",
                    schedule = %scheduler.name, worker = self.worker,
                    now = %tenure.store_now(),
                    "no time is left at which it is due by the store's clock: it does not run again"
                );
                self.stopping.cancelled().await;
                return Ok(TickLoopEnd::Stopped);
            };
            self.announce(&next);
            if !self.until(next.claim.due_at).await {
                return Ok(TickLoopEnd::Stopped);
            }
            match self.claim(&mut view, &next.claim).await? {
                Claimed::Ours => {}
                Claimed::PlanAnew => continue,
                Claimed::Deposed => return Ok(TickLoopEnd::Deposed),
            }
            scheduler.board.status().skipped += next.skipped;
            self.meters().skipped(next.skipped);
            let Some(end) = self.run_whole(work, &view, next.claim.clone()).await else {
                continue;
            };
            let at = tenure.store_now();
            view.finished(end, at);
            scheduler.ledger.finish(&tenure.grant(), end, at).await;
        }
    }

    fn report(&self, view: &LedgerView<'_>) {
        let Some(entry) = view.unfinished() else {
            return;
        };
        self.scheduler.board.status().unfinished += 1;
        let what = if self.scheduler.config.rerun_unfinished {
            "is run again"
        } else {
            "is skipped"
        };
        tracing::warn!(
            target: "tenure::schedule",
            schedule = %self.scheduler.name, worker = self.worker,
            tick = entry.last_tick, token = %entry.token,
            "a tick that an earlier leader started and did not end {what}"
        );
    }

    fn announce(&self, next: &Next) {
        if next.skipped > 0 {
            tracing::warn!(
                target: "tenure::schedule",
                schedule = %self.scheduler.name, worker = self.worker,
                skipped = next.skipped, next = next.claim.tick,
                "late ticks are left out"
            );
        }
        self.scheduler.board.status().next_run = Some(NextRun {
            tick: next.claim.tick,
            due_at: next.claim.due_at,
        });
    }

    /// Waits until `due` on the store's clock; false when stopped before.
    async fn until(&self, due: StoreTime) -> bool {
        let clock = self.scheduler.engine.clock();
        loop {
            if self.stopping.is_cancelled() {
                return false;
            }
            if self.tenure.store_now() >= due {
                return true;
            }
            // The store's clock may turn out to be elsewhere with any renewal.
            let look = clock.now() + self.scheduler.engine.terms().ttl();
            let at = self.tenure.moment_of(due).min(look);
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => return false,
                () = clock.sleep_until(at) => {}
            }
        }
    }

    async fn claim(&self, view: &mut LedgerView<'_>, claim: &Claim) -> Result<Claimed> {
        let scheduler = self.scheduler;
        match scheduler.ledger.claim(self.tenure, claim).await {
            ClaimAnswer::Claimed => {}
            ClaimAnswer::NotOwner => return Ok(Claimed::Deposed),
            ClaimAnswer::Refused(entry) => {
                let token = entry.token;
                match view.refused(claim, entry).map_err(about(&scheduler.name))? {
                    Refusal::Ours => {}
                    Refusal::Behind => {
                        // Whatever the ledger does: never as fast as it goes.
                        scheduler
                            .engine
                            .clock()
                            .sleep(scheduler.engine.pause(1))
                            .await;
                        return Ok(Claimed::PlanAnew);
                    }
                    Refusal::Newer => {
                        tracing::error!(
                            target: "tenure::schedule",
                            schedule = %scheduler.name, worker = self.worker,
                            "the ledger holds the token {token}, larger than the owner's: \
                             the store has lost its count of tokens; will lead anew"
                        );
                        let pause = scheduler.engine.terms().lease();
                        scheduler.engine.clock().sleep(pause).await;
                        // Under this token nothing can be claimed any more. The next
                        // may be large enough, here or at another process.
                        return Ok(Claimed::Deposed);
                    }
                }
            }
        }
        view.claimed(claim);
        Ok(Claimed::Ours)
    }

    /// Runs the claimed tick, also again where what was cut short is run again;
    /// how it ended. `None`: it was cut short, and stays without an end.
    async fn run_whole(
        &self,
        work: &mut impl Work,
        view: &LedgerView<'_>,
        mut claim: Claim,
    ) -> Option<TickEnd> {
        for cuts in 1.. {
            // Looked at here: the claim itself may have taken long.
            if self.is_too_late(&claim) {
                return Some(TickEnd::skipped(claim.tick));
            }
            match self.run_once(work, &claim).await {
                RunOutcome::Cut => {}
                outcome => return Some(TickEnd::new(claim.tick, outcome == RunOutcome::Done)),
            }
            self.scheduler.board.status().unfinished += 1;
            claim = view.cut()?;
            let pause = self.scheduler.engine.pause(cuts);
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => return None,
                () = self.scheduler.engine.clock().sleep(pause) => {}
            }
        }
        None
    }

    /// Whether the tick is not to be run any more.
    fn is_too_late(&self, claim: &Claim) -> bool {
        let (scheduler, now) = (self.scheduler, self.tenure.store_now());
        let is_too_late = scheduler.config.latest(now) > Some(claim.due_at);
        if is_too_late {
            scheduler.board.status().too_late += 1;
            self.meters().skipped(1);
            tracing::warn!(
                target: "tenure::schedule",
                schedule = %scheduler.name, worker = self.worker, tick = claim.tick,
                late = ?now.since(claim.due_at), limit = ?scheduler.config.late_limit,
                "a tick is later than the late limit and is skipped"
            );
        }
        is_too_late
    }

    /// Runs the claimed tick once.
    async fn run_once(&self, work: &mut impl Work, claim: &Claim) -> RunOutcome {
        let scheduler = self.scheduler;
        let tick = Tick {
            number: claim.tick,
            due_at: claim.due_at,
            started_at: self.tenure.store_now(),
            is_rerun: claim.again,
            tenure: self.tenure.clone(),
        };
        let span = tracing::info_span!(
            target: "tenure::schedule", "run",
            schedule = %scheduler.name, worker = self.worker,
            tick = tick.number, token = %self.tenure.own_token(),
        );
        let clock = scheduler.engine.clock();
        span.in_scope(|| self.tell_begun(&tick));
        let record = scheduler.board.begin(&tick, clock);
        let result = {
            let running = work.run(tick).instrument(span.clone());
            match scheduler.config.time_limit {
                None => running.await,
                Some(limit) => clock
                    .limit(clock.now() + limit, running)
                    .await
                    .unwrap_or(Err(Failure::TimeLimit)),
            }
        };
        let outcome = span.in_scope(|| self.judge(result));
        let took = record.end(outcome);
        span.in_scope(|| self.tell_ended(claim.tick, outcome, took));
        work.ended().await;
        outcome
    }

    fn meters(&self) -> NameMeters {
        self.scheduler.meters()
    }

    fn tell_begun(&self, tick: &Tick) {
        let (scheduler, late) = (self.scheduler, tick.started_at.since(tick.due_at));
        self.meters().run_begins(late);
        tracing::debug!(
            target: "tenure::schedule",
            schedule = %scheduler.name, tick = tick.number, is_rerun = tick.is_rerun, ?late,
            "a run begins"
        );
        // A fail-over takes a lease: what is later has another reason.
        if late > scheduler.engine.terms().lease() {
            tracing::warn!(
                target: "tenure::schedule",
                schedule = %scheduler.name, tick = tick.number, ?late,
                "a run begins late"
            );
        }
    }

    fn tell_ended(&self, tick: u64, outcome: RunOutcome, took: Duration) {
        let at = self.tenure.store_now().as_millis();
        self.meters().run_ended(outcome.word(), took, at);
        tracing::info!(
            target: "tenure::schedule",
            schedule = %self.scheduler.name, tick, outcome = outcome.word(), ?took,
            "a run has ended"
        );
    }

    fn judge(&self, result: std::result::Result<(), Failure>) -> RunOutcome {
        match result {
            Ok(()) => RunOutcome::Done,
            Err(Failure::Error(error)) if error.is::<Unfinished>() => {
                tracing::warn!(target: "tenure::schedule", "a run was cut short: {error}");
                RunOutcome::Cut
            }
            Err(Failure::Error(error)) => {
                tracing::error!(target: "tenure::schedule", "a run failed: {error}");
                RunOutcome::Failed
            }
            Err(Failure::Panic(text)) => {
                tracing::error!(target: "tenure::schedule", "a run panicked: {text}");
                RunOutcome::Panicked
            }
            Err(Failure::TimeLimit) => {
                let limit = self.scheduler.config.time_limit;
                tracing::error!(target: "tenure::schedule", ?limit, "a run was given up at its time limit");
                RunOutcome::TimedOut
            }
        }
    }
}

/// What became of a claim.
enum Claimed {
    Ours,
    PlanAnew,
    Deposed,
}
