//! Until when an owner on ZooKeeper may believe.

use stateright::Path;
use tenure_model::explore::{counterexample, explore};
use tenure_model::property::NEVER_TWO;
use tenure_model::session::{Action, Rule, Session, SessionState, Setting, sentence};

use crate::say;

const SESSION: Setting = Setting {
    timeout: 4,
    requests: 2,
    rule: Rule::Now,
};

fn told(path: Path<SessionState, Action>) -> String {
    let steps = path.into_vec();
    let pairs = steps.windows(2).enumerate().map(|(step, pair)| {
        let (before, after) = (&pair[0], &pair[1].0);
        let what = before.1.map_or_else(String::new, sentence);
        let (left, believes) = (after.left, after.believes);
        let step = step + 1;
        format!("{step:>3}. {what}\n       session: {left} left; BELIEF: {believes}\n")
    });
    pairs.collect()
}

fn broken(rule: Rule) -> String {
    let setting = Setting { rule, ..SESSION };
    let story = counterexample(Session(setting), NEVER_TWO, told);
    println!("{rule:?} breaks \"{NEVER_TWO}\":\n{story}");
    story
}

#[test]
fn nobody_believes_for_longer_than_its_session_lives() {
    let explored = explore(Session(SESSION), told);
    say("ZooKeeper", &explored);
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
fn five_eighths_of_t_after_a_pause_are_too_long() {
    broken(Rule::Old);
}

#[test]
fn answers_of_a_server_whose_questions_stood_still_prove_nothing() {
    broken(Rule::AnsweredBefore);
}

#[test]
fn a_leader_that_nobody_follows_answers_all_the_same() {
    let story = broken(Rule::LeaderAlone);
    assert!(story.contains("the leader loses the others"), "{story}");
}
