//! [`LedgerView`]: what one leader knows of its schedule's ledger, and which tick
//! follows from it. Pure: no clock, no I/O.

use super::cadence::{Before, Due};
use super::config::{Misfire, ScheduleConfig};
use crate::backend::{Claim, LedgerEntry, OtherPlan, TickEnd, TickState};
use crate::error::{Error, Result};
use crate::model::{FencingToken, MutexName, StoreTime};

/// The ledger as a leader sees it during one term.
#[derive(Debug)]
pub(super) struct LedgerView<'a> {
    config: &'a ScheduleConfig,
    plan: Box<str>,
    token: FencingToken,
    /// When the schedule began.
    origin: StoreTime,
    last: Option<LedgerEntry>,
}

/// The tick to run next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) claim: Claim,
    pub(super) skipped: u64,
}

/// What a refused claim means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It had been granted, and its answer was lost.
    Ours,
    /// The ledger has moved on: plan anew.
    Behind,
    /// The ledger knows a larger token than the owner's.
    Newer,
}

impl<'a> LedgerView<'a> {
    /// Opens the ledger as it stands at `now`, for the leader with `token`.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when it follows another plan.
    pub(super) fn open(
        config: &'a ScheduleConfig,
        token: FencingToken,
        now: StoreTime,
        last: Option<LedgerEntry>,
    ) -> Result<Self> {
        let plan = config.plan().into_boxed_str();
        let mut origin = now;
        if let Some(entry) = &last {
            check_plan(config, entry)?;
            if entry.plan == plan {
                origin = entry.origin;
            }
        }
        Ok(Self {
            config,
            plan,
            token,
            origin,
            last,
        })
    }

    /// The tick whose leader never said how it ended.
    pub(super) fn unfinished(&self) -> Option<&LedgerEntry> {
        let is_open =
            |entry: &&LedgerEntry| entry.state == TickState::Claimed && entry.token < self.token;
        self.last.as_ref().filter(is_open)
    }

    /// The plan to write on coming to office: that of a schedule that begins,
    /// or is replaced. From then on the origin stands, and every process can see
    /// which plan it is.
    pub(super) fn plan(&self) -> Option<Claim> {
        let plan = match &self.last {
            None => self.first(0)?.claim,
            Some(last) if last.plan == self.plan => return None,
            Some(last) if last.state == TickState::Planned => self.first(last.last_tick)?.claim,
            Some(last) => self.first(last.last_tick + 1)?.claim,
        };
        let plan = plan.only_plan();
        Some(match &self.last {
            Some(_) => plan.replacing_plan(),
            None => plan,
        })
    }

    /// The tick to run next, as seen at `now`; `None`: none, ever.
    pub(super) fn next(&self, now: StoreTime) -> Option<Next> {
        let Some(last) = &self.last else {
            return self.first(0);
        };
        if last.plan != self.plan {
            let mut first = self.first(last.last_tick + 1)?;
            first.claim = first.claim.replacing_plan();
            return Some(first);
        }
        if last.state == TickState::Planned {
            return self.planned(last, now);
        }
        if self.config.rerun_unfinished && self.unfinished().is_some() {
            let claim = self.claim(last.last_tick, last.due_at).again();
            return Some(Next { claim, skipped: 0 });
        }
        let before = Before {
            tick: last.last_tick,
            due_at: last.due_at,
            finished_at: last.finished_at,
        };
        let due = self.choose(self.config.cadence.following(before)?, now)?;
        Some(Next {
            claim: self.claim(due.tick, due.at),
            skipped: due.skipped,
        })
    }

    /// The tick to run, or to record as skipped, when all before `first` have
    /// been.
    fn choose(&self, first: (u64, StoreTime), now: StoreTime) -> Option<Due> {
        let ScheduleConfig {
            cadence, misfire, ..
        } = self.config;
        let due = cadence.from(first, now, *misfire)?;
        match self.config.latest(now) {
            // However many are too late: the last of them stands for all.
            Some(latest) if due.at < latest => {
                let before = StoreTime::from_millis(latest.as_millis() - 1);
                cadence.from(first, before, Misfire::Once)
            }
            _ => Some(due),
        }
    }

    /// The first tick of all; by the rule for late ones if its time passed
    /// under earlier leaders.
    fn planned(&self, last: &LedgerEntry, now: StoreTime) -> Option<Next> {
        let (tick, at) = (last.last_tick, last.due_at);
        if last.token == self.token {
            let claim = self.claim(tick, at);
            return Some(Next { claim, skipped: 0 });
        }
        let due = self.choose((tick, at), now)?;
        Some(Next {
            claim: self.claim(due.tick, due.at),
            skipped: due.skipped,
        })
    }

    fn first(&self, tick: u64) -> Option<Next> {
        let due = self.config.cadence.first(self.origin)?;
        let claim = self.claim(tick, due);
        Some(Next { claim, skipped: 0 })
    }

    fn claim(&self, tick: u64, due_at: StoreTime) -> Claim {
        Claim::new(self.plan.clone(), self.origin, tick, due_at)
    }

    /// The run was cut short and has no end: the tick to run again now, if
    /// such ticks are.
    pub(super) fn cut(&self) -> Option<Claim> {
        let last = self.last.as_ref()?;
        let again = self.claim(last.last_tick, last.due_at).again();
        self.config.rerun_unfinished.then_some(again)
    }

    /// The claim was granted.
    pub(super) fn claimed(&mut self, claim: &Claim) {
        self.last = Some(LedgerEntry::claimed(claim, self.token));
    }

    /// The claimed tick has ended.
    pub(super) fn finished(&mut self, end: TickEnd, at: StoreTime) {
        if let Some(last) = &mut self.last {
            last.end(&end, at);
        }
    }

    /// The claim was refused over `entry`.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when the ledger follows another plan.
    pub(super) fn refused(&mut self, claim: &Claim, entry: LedgerEntry) -> Result<Refusal> {
        check_plan(self.config, &entry)?;
        if entry.token == self.token
            && entry.last_tick == claim.tick
            && entry.state == claim.state()
        {
            return Ok(Refusal::Ours);
        }
        if entry.token > self.token {
            return Ok(Refusal::Newer);
        }
        if entry.plan == self.plan {
            self.origin = entry.origin;
        }
        self.last = Some(entry);
        Ok(Refusal::Behind)
    }
}

/// # Errors
/// [`Conflict`](crate::ErrorKind::Conflict) when `entry` follows another plan than
/// `config`, which does not replace it.
pub(super) fn check_plan(config: &ScheduleConfig, entry: &LedgerEntry) -> Result<()> {
    let plan = config.plan();
    if *entry.plan == *plan || config.replace_plan {
        return Ok(());
    }
    let other = OtherPlan::new(entry.plan.clone(), plan);
    let message = format!(
        "{other}: give it a name of its own, the same config everywhere, or with_plan_replaced()"
    );
    let error = Error::conflict(message);
    Err(error.with_source(other))
}

/// The same error, about `name`.
pub(super) fn about(name: &MutexName) -> impl Fn(Error) -> Error + '_ {
    move |error| error.with_mutex(name)
}
