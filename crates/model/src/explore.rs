//! Exploring a model to its end.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model, Path};

/// What was explored.
#[derive(Debug)]
pub struct Explored {
    /// How many different states there are.
    pub states: usize,
    /// How many steps lead from one to another.
    pub steps: usize,
    /// How many steps the longest of the shortest ways takes.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
}

/// Explores every state of `model`.
///
/// # Panics
/// When a property does not hold, with the shortest way there, as `told` tells it; when
/// a `sometimes` never does, so that the model cannot be right for want of anything
/// happening in it; and when the exploration ended before it was complete.
pub fn explore<M>(model: M, told: impl Fn(Path<M::State, M::Action>) -> String) -> Explored
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let began = Instant::now();
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let mut found = checker.discoveries();
    for property in checker.model().properties() {
        let path = found.remove(property.name);
        match (property.expectation, path) {
            (Expectation::Sometimes, None) => panic!("never: {}", property.name),
            (Expectation::Always | Expectation::Eventually, Some(path)) => {
                panic!("broken: {}\n{}", property.name, told(path))
            }
            _ => {}
        }
    }
    assert!(checker.is_done(), "not all of it was explored");
    Explored {
        states: checker.unique_state_count(),
        steps: checker.state_count(),
        depth: checker.max_depth(),
        took: began.elapsed(),
    }
}

/// The shortest way to break the property `name` of `model`, as `told` tells it.
///
/// # Panics
/// When there is none.
pub fn counterexample<M>(
    model: M,
    name: &'static str,
    told: impl Fn(Path<M::State, M::Action>) -> String,
) -> String
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let only = std::iter::once(name).collect();
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AnyOf(only))
        .spawn_bfs()
        .join();
    let Some(path) = checker.discovery(name) else {
        let states = checker.unique_state_count();
        panic!("{states} states, and none of them breaks: {name}");
    };
    told(path)
}
