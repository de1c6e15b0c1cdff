//! Every state of the models, and the counterexamples of rules that were wrong.

mod named;
mod reckoned;
mod redis;
mod table;
mod waiting;
mod zookeeper;

use tenure_model::explore::{Explored, counterexample, explore};
use tenure_model::rule::Rule;
use tenure_model::setting::{Replicas, Setting};
use tenure_model::store::Store;
use tenure_model::told::told;
use tenure_model::world::World;

/// A world without a queue, in which nothing fails over.
const WORLD: Setting = Setting {
    lease: 2,
    reserve: 1,
    queues: false,
    lingers: false,
    late: 1,
    replicas: Replicas::None,
    writes: false,
    unique: 0,
    reckons: false,
    peer: None,
    rule: Rule::Now,
    symmetric: true,
};

/// Looks at all of `setting`, and says how much that was.
fn explored<S: Store>(what: &str, setting: Setting) -> Explored {
    let explored = explore(World::<S>::new(setting), told);
    say(what, &explored);
    explored
}

fn say(what: &str, explored: &Explored) {
    let Explored {
        states,
        steps,
        depth,
        took,
    } = explored;
    println!("{what}: {states} states, {steps} steps, {depth} deep, in {took:.1?}");
}

/// What `rule` leads to, told for a person.
fn broken<S: Store>(rule: Rule, property: &'static str, setting: Setting) -> String {
    let look = |symmetric| {
        let setting = Setting {
            rule,
            symmetric,
            ..setting
        };
        counterexample(World::<S>::new(setting), property, told)
    };
    // What counts as one world hides nothing.
    look(true);
    // So that a stays a.
    let story = look(false);
    println!("{rule:?} breaks \"{property}\":\n{story}");
    story
}
