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
//! A tenure that the store may have forgotten can be freed from that moment on.

mod owned;

use std::time::Duration;

use owned::{Owned, owned};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};
use tenure_testkit::history::Event;

use crate::judge::{Forgets, Kind, Terms, Violation};

/// How many tenures are looked at together, and how many of them with those after them as well:
/// whom another follows too early is as a rule found beside the very next one.
const WINDOW: usize = 6;
const SHARED: usize = 3;

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
    let forgets = Forgets::of(events, terms);
    let mut violations = Vec::new();
    for (name, mut tenures) in owned(events, terms) {
        let left_over = left_over(&tenures, &forgets);
        let mut is_left_over = left_over.into_iter();
        tenures.retain(|_| !is_left_over.next().unwrap_or(false));
        for window in windows(&tenures) {
            let Err(why) = linearizable(window, &forgets) else {
                continue;
            };
            let (first, last) = (window[0].taken.1, window[window.len() - 1].taken.1);
            violations.push(Violation {
                kind: Kind::NotLinearizable,
                message: format!("no lock could have answered so for {name:?}: {why}"),
                name: name.clone(),
                span: (first, last),
            });
        }
    }
    violations
}

/// Which of them were handed over inside their process out of a grant that had been forgotten: they
/// were taken from no store.
fn left_over(tenures: &[Owned], forgets: &Forgets) -> Vec<bool> {
    let is_it = |(place, it): (usize, &Owned)| {
        let is_origin = |before: &Owned| {
            before.process == it.process && before.token.store() == it.token.store()
        };
        it.token.hand_over() > 0
            && forgets.since(it.taken.0, it.until).is_some()
            && tenures[..place].iter().any(is_origin)
    };
    tenures.iter().enumerate().map(is_it).collect()
}

/// Windows that share some tenures with their neighbours.
fn windows(tenures: &[Owned]) -> impl Iterator<Item = &[Owned]> {
    let starts = (0..tenures.len()).step_by(WINDOW - SHARED);
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

fn linearizable(window: &[Owned], forgets: &Forgets) -> Result<(), String> {
    let mut steps = Vec::new();
    for (who, tenure) in window.iter().enumerate() {
        steps.extend(calls(who, tenure, forgets));
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
fn calls(who: usize, tenure: &Owned, forgets: &Forgets) -> Vec<Step> {
    let token = tenure.token.value();
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
    let (take, (sent, heard)) = (Call::Take(token), tenure.taken);
    let mut steps = vec![begins(sent, take), ends(heard, take)];
    let mut last = heard + MOMENT;
    let forgotten = forgets.since(sent, tenure.until);
    let known = forgotten.unwrap_or(tenure.until);
    let known_uses = tenure.uses.iter().filter(|(_, until)| *until <= known);
    let uses: Vec<_> = known_uses.collect();
    // The first and the last of them: what is owned in between was owned all the time.
    let both = [uses.first(), uses.last().filter(|_| uses.len() > 1)];
    for (from, until) in both.into_iter().flatten() {
        let (from, until) = ((*from).max(last), *until);
        if from >= until {
            continue;
        }
        steps.extend([
            begins(from, Call::Use(token)),
            ends(until, Call::Use(token)),
        ]);
        last = until + MOMENT;
    }
    let free = Call::Free(token);
    steps.push(match forgotten {
        // By the store itself, perhaps before its owner has heard of the grant.
        Some(since) => Step {
            at: since.max(sent),
            is_end: false,
            who: who + WINDOW,
            call: free,
        },
        None => begins(tenure.until.max(last), free),
    });
    steps
}
