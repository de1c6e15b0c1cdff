//! [`Faults`]: what goes wrong next, and what was called.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::backend::Hint;
use tenure::clock::{Clock, Moment};
use tenure::model::MutexName;
use tokio::sync::{mpsc, watch};

use super::Rates;

/// A kind of call to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// [`Backend::acquire`](tenure::backend::Backend::acquire).
    Acquire,
    /// [`Backend::renew`](tenure::backend::Backend::renew).
    Renew,
    /// [`Backend::release`](tenure::backend::Backend::release).
    Release,
    /// [`Backend::leave`](tenure::backend::Backend::leave).
    Leave,
    /// [`Backend::owner`](tenure::backend::Backend::owner).
    Owner,
    /// [`Backend::changes`](tenure::backend::Backend::changes).
    Changes,
    /// [`Inventory::list`](tenure::backend::Inventory::list).
    List,
    /// [`Administration::revoke`](tenure::backend::Administration::revoke).
    Revoke,
    /// [`Inventory::prune`](tenure::backend::Inventory::prune).
    Prune,
    /// [`Administration::check`](tenure::backend::Administration::check).
    Check,
    /// [`Ledger::read_ledger`](tenure::backend::Ledger::read_ledger).
    ReadLedger,
    /// [`Ledger::list_ledgers`](tenure::backend::Ledger::list_ledgers).
    ListLedgers,
    /// [`Ledger::claim_tick`](tenure::backend::Ledger::claim_tick).
    ClaimTick,
    /// [`Ledger::finish_tick`](tenure::backend::Ledger::finish_tick).
    FinishTick,
    /// [`Backend::close`](tenure::backend::Backend::close).
    Close,
}

/// What befalls a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing: it goes well.
    None,
    /// It fails before it is applied: unreachable, certainly did nothing.
    Fail,
    /// It is lost on its way: not applied, but the caller cannot know.
    LoseRequest,
    /// It is applied and its answer is lost: unreachable, may have happened.
    LoseAnswer,
    /// It is applied, and after this long fails: timed out, may have happened.
    TimeOut(Duration),
    /// It is applied after this long.
    DelayBefore(Duration),
    /// It is applied, and its answer comes after this long.
    DelayAfter(Duration),
    /// It hangs before it is applied, until [`Faults::heal`]; then it goes on.
    Hang,
    /// It is applied, and its answer hangs until [`Faults::heal`].
    HangAfter,
    /// It is applied twice; the second answer is the caller's.
    Duplicate,
    /// It is applied and answered, and applied once more after this long.
    DuplicateLate(Duration),
}

/// What befalls a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HintFault {
    /// Nothing: it comes.
    None,
    /// It does not come.
    Lose,
    /// It comes twice.
    Double,
    /// It comes after this long.
    Delay(Duration),
    /// It comes after the next one.
    Reorder,
    /// It comes after a [`Hint::Resumed`].
    Resume,
}

/// One call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its kind.
    pub call: Call,
    /// The names it was about, in order.
    pub names: Vec<MutexName>,
    /// When it was made.
    pub at: Moment,
}

/// The handle that makes a [`FaultBackend`](super::FaultBackend) fail; clones
/// are the same handle.
#[derive(Clone)]
pub struct Faults(Arc<FaultsParts>);

struct FaultsParts {
    clock: Clock,
    rules: Mutex<FaultRules>,
    healed: watch::Sender<u64>,
}

struct FaultRules {
    once: VecDeque<Rule>,
    always: Vec<Rule>,
    hints_once: VecDeque<HintFault>,
    hints_always: HintFault,
    random: fastrand::Rng,
    rates: Rates,
    log: Vec<Record>,
    ears: Vec<(MutexName, mpsc::UnboundedSender<Hint>)>,
}

#[derive(Debug)]
struct Rule {
    call: Call,
    name: Option<MutexName>,
    fault: Fault,
}

impl Rule {
    /// A rule about a name befalls calls about that name alone; a rule about
    /// none, whole calls.
    fn fits(&self, call: Call, name: Option<&MutexName>, whole: bool) -> bool {
        self.call == call
            && match &self.name {
                Some(own) => name == Some(own),
                None => whole,
            }
    }
}

impl Faults {
    /// Everything goes well until told otherwise; delays are on `clock`.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self::seeded(clock, 0, Rates::NONE)
    }

    /// Faults drawn at these rates from `seed`, which decides all of them.
    #[must_use]
    pub fn seeded(clock: Clock, seed: u64, rates: Rates) -> Self {
        Self(Arc::new(FaultsParts {
            clock,
            rules: Mutex::new(FaultRules {
                once: VecDeque::new(),
                always: Vec::new(),
                hints_once: VecDeque::new(),
                hints_always: HintFault::None,
                random: fastrand::Rng::with_seed(seed),
                rates,
                log: Vec::new(),
                ears: Vec::new(),
            }),
            healed: watch::Sender::new(0),
        }))
    }

    fn rules(&self) -> MutexGuard<'_, FaultRules> {
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `fault` befalls the next call of this kind that none befalls yet.
    pub fn next(&self, call: Call, fault: Fault) {
        self.add(call, None, fault, true);
    }

    /// The same for the next call about `name`. In a batch of renewals it
    /// befalls that element alone, but a delay or hang holds up the batch, as
    /// one request carries it.
    pub fn next_for(&self, call: Call, name: &MutexName, fault: Fault) {
        self.add(call, Some(name), fault, true);
    }

    /// `fault` befalls every call of this kind, until [`heal`](Self::heal). A
    /// later rule stands before an earlier one.
    pub fn always(&self, call: Call, fault: Fault) {
        self.add(call, None, fault, false);
    }

    /// The same for every call about `name`.
    pub fn always_for(&self, call: Call, name: &MutexName, fault: Fault) {
        self.add(call, Some(name), fault, false);
    }

    fn add(&self, call: Call, name: Option<&MutexName>, fault: Fault, once: bool) {
        let name = name.cloned();
        let rule = Rule { call, name, fault };
        let mut rules = self.rules();
        if once {
            rules.once.push_back(rule);
        } else {
            rules.always.insert(0, rule);
        }
    }

    /// `fault` befalls the next hint of any stream.
    pub fn next_hint(&self, fault: HintFault) {
        self.rules().hints_once.push_back(fault);
    }

    /// `fault` befalls every hint, until [`heal`](Self::heal).
    pub fn all_hints(&self, fault: HintFault) {
        self.rules().hints_always = fault;
    }

    /// Gives `hint` to every stream about `name`, out of nowhere.
    pub fn inject(&self, name: &MutexName, hint: Hint) {
        self.rules()
            .ears
            .retain(|(about, ear)| about != name || ear.send(hint).is_ok());
    }

    /// From now on things go wrong by chance at these rates.
    pub fn at_rates(&self, rates: Rates) {
        self.rules().rates = rates;
    }

    /// Nothing goes wrong any more, and what hangs goes on.
    pub fn heal(&self) {
        {
            let mut rules = self.rules();
            rules.once.clear();
            rules.always.clear();
            rules.hints_once.clear();
            rules.hints_always = HintFault::None;
            rules.rates = Rates::NONE;
        }
        self.0.healed.send_modify(|times| *times += 1);
    }

    /// How many calls of this kind were made.
    #[must_use]
    pub fn calls(&self, call: Call) -> u64 {
        self.count(|record| record.call == call)
    }

    /// How many calls of this kind were about `name`.
    #[must_use]
    pub fn calls_for(&self, call: Call, name: &MutexName) -> u64 {
        self.count(|record| record.call == call && record.names.contains(name))
    }

    fn count(&self, wanted: impl Fn(&Record) -> bool) -> u64 {
        self.rules()
            .log
            .iter()
            .filter(|record| wanted(record))
            .count() as u64
    }

    /// Every call that was made, in order.
    #[must_use]
    pub fn log(&self) -> Vec<Record> {
        self.rules().log.clone()
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Notes a call and says what befalls it as a whole.
    pub(super) fn note(&self, call: Call, names: Vec<MutexName>) -> Fault {
        let at = self.0.clock.now();
        let mut rules = self.rules();
        // A batch is about its names one by one, any other call as a whole.
        let name = match call {
            Call::Renew => None,
            _ => names.first().cloned(),
        };
        rules.log.push(Record { call, names, at });
        rules.fault(call, name.as_ref(), true)
    }

    /// What befalls one element of a batch.
    pub(super) fn element(&self, call: Call, name: &MutexName) -> Fault {
        self.rules().fault(call, Some(name), false)
    }

    pub(super) fn hint(&self) -> HintFault {
        let mut rules = self.rules();
        if let Some(fault) = rules.hints_once.pop_front() {
            return fault;
        }
        if rules.hints_always != HintFault::None {
            return rules.hints_always;
        }
        let rates = rules.rates;
        rates.draw_hint(&mut rules.random)
    }

    pub(super) fn listen(&self, name: &MutexName) -> mpsc::UnboundedReceiver<Hint> {
        let (ear, injected) = mpsc::unbounded_channel();
        let mut rules = self.rules();
        rules.ears.retain(|(_, ear)| !ear.is_closed());
        rules.ears.push((name.clone(), ear));
        injected
    }

    /// Returns at the next heal.
    pub(super) async fn healing(&self) {
        let mut healed = self.0.healed.subscribe();
        // The sender lives in `self`, so this cannot fail.
        healed.changed().await.ok();
    }
}

impl FaultRules {
    fn fault(&mut self, call: Call, name: Option<&MutexName>, whole: bool) -> Fault {
        let fits = |rule: &Rule| rule.fits(call, name, whole);
        if let Some(index) = self.once.iter().position(fits) {
            let rule = self.once.remove(index);
            return rule.map_or(Fault::None, |rule| rule.fault);
        }
        if let Some(rule) = self.always.iter().find(|rule| fits(rule)) {
            return rule.fault;
        }
        if !whole {
            return Fault::None;
        }
        self.rates.draw(&mut self.random)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules();
        f.debug_struct("Faults")
            .field("once", &rules.once)
            .field("always", &rules.always)
            .field("rates", &rules.rates)
            .finish_non_exhaustive()
    }
}
