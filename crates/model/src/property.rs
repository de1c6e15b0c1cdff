//! What is never to happen in a [world](crate::world), and what has to be possible in it.

use stateright::Property;

use crate::client::{Client, Phase};
use crate::setting::{Replicas, Setting};
use crate::store::Store;
use crate::words::Answer;
use crate::world::{World, WorldState};

/// As docs/guarantees.md has it.
pub const NEVER_TWO: &str = "never two at once";
/// Promise 5.
pub const TOKENS_RISE: &str = "tokens rise";
/// What is kept for a waiter has no owner until the waiter takes it.
pub const KEPT_IS_NO_GRANT: &str = "a kept place is no grant";
/// What a fence gives.
pub const NO_STALE_WRITE: &str = "a fenced register takes no stale write";

/// All of a world that is made of `setting`.
pub(crate) fn all<S: Store>(setting: &Setting) -> Vec<Property<World<S>>> {
    let mut properties = vec![
        Property::always(NEVER_TWO, is_owned_by_one),
        Property::always(TOKENS_RISE, |_, state: &WorldState<S>| !state.fell),
        Property::always(NO_STALE_WRITE, |_, state: &WorldState<S>| !state.stale),
        Property::always(KEPT_IS_NO_GRANT, |_, state: &WorldState<S>| {
            state.master.keeps_well()
        }),
    ];
    properties.extend(possible(setting));
    properties
}

fn is_owned_by_one<S: Store>(world: &World<S>, state: &WorldState<S>) -> bool {
    let ours = state.clients.iter().filter(|client| client.owns()).count();
    let owners = ours + usize::from(state.peer > 0);
    // Redis answers before its replica has what it answers about.
    let forgets = world.setting.replicas == Replicas::Asynchronous;
    let is_excused = forgets && state.since < world.setting.lease;
    owners < 2 || is_excused
}

/// Where one of these never happens the model is wrong.
fn possible<S: Store>(setting: &Setting) -> Vec<Property<World<S>>> {
    let sometimes = Property::<World<S>>::sometimes;
    let mut properties = vec![
        sometimes("somebody owns", |_, state| {
            state.clients.iter().any(Client::owns)
        }),
        sometimes("all three contend", |_, state| {
            let is_in = |client: &Client| !matches!(client.phase, Phase::Out | Phase::Gone);
            state.clients.iter().all(is_in)
        }),
        sometimes("a grant is found again", |_, state| {
            let heard = state.clients.iter().filter_map(|client| client.heard);
            let mut answers = heard.map(|heard| heard.answer);
            answers.any(|answer| matches!(answer, Answer::Won { found: true, .. }))
        }),
    ];
    if setting.unique > 0 {
        properties.push(sometimes("one ends that may still release", |_, state| {
            let gone = |client: &Client| client.phase == Phase::Gone;
            state.clients.iter().any(gone)
        }));
    }
    if setting.peer.is_some() {
        properties.push(sometimes("a JVM peer owns", |_, state| state.peer > 0));
    }
    properties
}
