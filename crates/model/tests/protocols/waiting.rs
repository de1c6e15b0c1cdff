//! That whoever waits comes to own.

use stateright::Path;
use tenure_model::explore::{counterexample, explore};
use tenure_model::waiting::{ALL_OWN, Action, Setting, Waiting, WaitingState, sentence};

use crate::say;

const WAITING: Setting = Setting {
    lease: 3,
    reserve: 1,
    faults: 0,
    begins: 2,
    unique: false,
    looks: true,
};

fn told(path: Path<WaitingState, Action>) -> String {
    let steps = path.into_actions().into_iter().enumerate();
    let told = steps.map(|(step, action)| format!("{:>3}. {}\n", step + 1, sentence(action)));
    told.collect()
}

#[test]
fn a_released_mutex_is_taken_by_the_next_waiter() {
    for unique in [false, true] {
        let setting = Setting { unique, ..WAITING };
        let explored = explore(Waiting(setting), told);
        say("waiting", &explored);
    }
}

#[test]
fn who_lives_comes_to_own_though_others_die_and_words_are_lost() {
    for unique in [false, true] {
        let setting = Setting {
            faults: 2,
            unique,
            ..WAITING
        };
        let explored = explore(Waiting(setting), told);
        say("waiting, with faults", &explored);
    }
}

/// The word is a hint: what makes up for a lost one is the look at the end of the lease.
#[test]
fn without_a_look_of_its_own_a_waiter_whose_word_is_lost_waits_for_ever() {
    let setting = Setting {
        faults: 1,
        looks: false,
        ..WAITING
    };
    let story = counterexample(Waiting(setting), ALL_OWN, told);
    println!("without looks:\n{story}");
    assert!(story.contains("is lost"), "{story}");
}
