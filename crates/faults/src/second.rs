//! A second judge: stateright's tester of linearizability, on the same histories.
//!
//! It is told nothing of spans and deadlines, only of calls with a beginning and an end, and
//! looks for an order of them that a lock could have had: taken by a larger token while it is
//! free, used by its owner, freed by its owner.
//!
//! | call | begins | ends |
//! | --- | --- | --- |
//! | take | a lease before its deadline | when it was heard of |
//! | use | before the write | when its owner was seen to be valid after it |
//! | free | when the owner did not own any more, by its own word or deadline | never: its owner is not told |
//!
//! A tenure that the store may have forgotten can be freed at any time after it was taken.

use std::time::Duration;

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};
use tenure_testkit::history::Event;

use crate::judge::{Forgets, Kind, Terms, Valid, Violation, forgets, is_left_over, tenures};

/// How many tenures are looked at together. A tenure that another follows too early is found
/// beside the very next one, so each window begins with the last tenure of the one before.
const WINDOW: usize = 6;

/// The least time between two calls of one owner.
const MOMENT: Duration = Duration::from_nanos(1);

/// A lock, as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Lock {
    owner: Option<u64>,
    last: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    Take(u64),
    Use(u64),
    Free(u64),
}

impl SequentialSpec for Lock {
    type Op = Call;
    /// Whether it can be so.
    type Ret = bool;

    fn invoke(&mut self, call: &Call) -> bool {
        match *call {
            Call::Take(token) if self.owner.is_none() && token > self.last => {
                self.owner = Some(token);
                self.last = token;
                true
            }
            Call::Use(token) => self.owner == Some(token),
            Call::Free(token) if self.owner == Some(token) => {
                self.owner = None;
                true
            }
            _ => false,
        }
    }
}

/// Judges `events`, which are in the order of their times.
#[must_use]
pub fn judge(events: &[Event], terms: Terms) -> Vec<Violation> {
    let forgets = forgets(events, terms.lease);
    let mut violations = Vec::new();
    for (name, all) in tenures(events) {
        // What was handed over out of a forgotten grant was taken from no store.
        let is_taken = |place: &usize| !is_left_over(&all, *place, &forgets);
        let taken = (0..all.len()).filter(is_taken);
        let tenures: Vec<_> = taken.map(|place| all[place].clone()).collect();
        for window in windows(&tenures) {
            let Err(why) = linearizable(window, &forgets, terms) else {
                continue;
            };
            let span = (window[0].from, window[window.len() - 1].from);
            violations.push(Violation {
                kind: Kind::NotLinearizable,
                message: format!("no lock could have answered so for {name:?}: {why}"),
                name: name.clone(),
                span,
            });
        }
    }
    violations
}

/// Windows that share one tenure with their neighbours.
fn windows(tenures: &[Valid]) -> impl Iterator<Item = &[Valid]> {
    let starts = (0..tenures.len()).step_by(WINDOW - 1);
    let window = |start: usize| &tenures[start..(start + WINDOW).min(tenures.len())];
    starts.map(window).filter(|window| window.len() > 1)
}

/// What is told to the tester, and when.
struct Step {
    at: Duration,
    /// What begins at the same moment as another thing ends is said to overlap it.
    is_end: bool,
    who: usize,
    call: Call,
}

fn linearizable(window: &[Valid], forgets: &Forgets, terms: Terms) -> Result<(), String> {
    let mut steps = Vec::new();
    for (who, tenure) in window.iter().enumerate() {
        steps.extend(calls(who, tenure, forgets, terms));
    }
    steps.sort_by_key(|step| (step.at, step.is_end, step.who));
    let mut tester = LinearizabilityTester::new(Lock::default());
    for step in &steps {
        match step.is_end {
            true => tester.on_return(step.who, true)?,
            false => tester.on_invoke(step.who, step.call)?,
        };
    }
    match tester.serialized_history() {
        Some(_) => Ok(()),
        None => Err(format!(
            "{:?}",
            steps.iter().map(Step::shown).collect::<Vec<_>>()
        )),
    }
}

impl Step {
    fn shown(&self) -> String {
        let what = if self.is_end { "done" } else { "begins" };
        format!("{:?} {what} at {:?}", self.call, self.at)
    }
}

/// The calls of one tenure, one after the other.
fn calls(who: usize, tenure: &Valid, forgets: &Forgets, terms: Terms) -> Vec<Step> {
    let token = tenure.id.token.value();
    let begins = |at, call| Step {
        at,
        is_end: false,
        who,
        call,
    };
    let ends = |at, call| Step {
        at,
        is_end: true,
        who,
        call,
    };
    let take = Call::Take(token);
    let sent = tenure.deadline.saturating_sub(terms.lease).min(tenure.from);
    let mut steps = vec![begins(sent, take), ends(tenure.from, take)];
    let mut last = tenure.from + MOMENT;
    if forgets.within(tenure.from, tenure.until) {
        // By the store itself, perhaps before its owner has heard of the grant.
        steps.push(Step {
            at: sent,
            is_end: false,
            who: who + WINDOW,
            call: Call::Free(token),
        });
        return steps;
    }
    // The first and the last of them: what is owned in between was owned all the time.
    let uses = [tenure.uses.first(), tenure.uses.last()];
    let number = uses.len().min(tenure.uses.len());
    for (from, until) in uses.into_iter().flatten().take(number) {
        // The answer may have come after the end that was told; what counts is that it was used.
        let (from, until) = ((*from).max(last), (*until).min(tenure.until));
        if from >= until {
            continue;
        }
        steps.extend([
            begins(from, Call::Use(token)),
            ends(until, Call::Use(token)),
        ]);
        last = until + MOMENT;
    }
    steps.push(begins(tenure.until.max(last), Call::Free(token)));
    steps
}
