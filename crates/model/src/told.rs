//! Histories for people.

use std::fmt::Write as _;

use stateright::Path;

use crate::action::Action;
use crate::client::Phase;
use crate::store::Store;
use crate::words::{Answer, Id, NO_BID, Request, name};
use crate::world::WorldState;

/// The steps of `path`, each with what it came to.
#[must_use]
pub fn told<S: Store>(path: Path<WorldState<S>, Action>) -> String {
    let mut text = String::new();
    let steps = path.into_vec();
    for (step, pair) in steps.windows(2).enumerate() {
        let (before, action, after) = (&pair[0].0, pair[0].1, &pair[1].0);
        let Some(action) = action else { break };
        let what = sentence(before, action, after);
        let _ = writeln!(text, "{:>3}. {what}", step + 1);
        let believes = after.clients.iter().zip(0..).filter_map(|(client, id)| {
            let Phase::Owning { token, left } = client.phase else {
                return None;
            };
            let (id, number) = (name(id), token.number);
            Some(format!("{id} owns by token {number} for {left}"))
        });
        let peer = (after.peer > 0).then(|| format!("the JVM peer owns for {}", after.peer));
        let believes: Vec<_> = believes.chain(peer).collect();
        let _ = writeln!(
            text,
            "       store: {}{}",
            after.master.told(),
            match believes.is_empty() {
                true => String::new(),
                false => format!("; BELIEF: {}", believes.join(", ")),
            }
        );
    }
    text
}

fn request(request: Request) -> String {
    match request {
        Request::Take {
            nonce, reckoned: 0, ..
        } => format!("take of bid {nonce}"),
        Request::Take {
            nonce, reckoned, ..
        } => format!("take of bid {nonce}, made at the time of token {reckoned}"),
        Request::Renew { token, .. } => format!("renewal of token {}", token.number),
        Request::Release { token, .. } => format!("release of token {}", token.number),
        Request::ReleaseById => "last release, by its id".to_owned(),
        Request::Leave { nonce: NO_BID, .. } => "word that its place is free".to_owned(),
        Request::Leave { nonce, .. } => format!("undoing of bid {nonce}"),
    }
}

fn answer(answer: Answer) -> String {
    match answer {
        Answer::Won { token, found, .. } => {
            let found = if found { "found" } else { "won" };
            format!("{found}, token {}", token.number)
        }
        Answer::Refused { .. } => "refused".to_owned(),
        Answer::Extended { .. } => "extended".to_owned(),
        Answer::Gone => "there is no such grant".to_owned(),
        Answer::Done => "done".to_owned(),
    }
}

fn sentence<S: Store>(before: &WorldState<S>, action: Action, after: &WorldState<S>) -> String {
    let was = |id: Id| &before.clients[usize::from(id)];
    let is = |id: Id| &after.clients[usize::from(id)];
    let late_or = |late: bool, other: &'static str| match late {
        true => "which is still on its way",
        false => other,
    };
    let tidily = |tidy: bool| match tidy {
        true => ", and will have its bid undone once more",
        false => "",
    };
    // What it reckons matters where it is late, and is told as that arrives.
    let take = |id: Id| request(was(id).take(0));
    let renewal = |id: Id| was(id).renew().map_or_else(String::new, request);
    let came = |id: Id, other: &str| match is(id).heard {
        Some(heard) => answer(heard.answer),
        None => other.to_owned(),
    };
    match action {
        Action::Begin(id) => format!("{} begins", name(id)),
        Action::Ask(id) => {
            let came = came(id, "refused");
            format!("the store carries out {}'s {}: {came}", name(id), take(id))
        }
        Action::AskUnheard(id) => {
            let take = take(id);
            format!(
                "the store carries out {}'s {take}; the answer is lost",
                name(id)
            )
        }
        Action::AskLate(id) => {
            format!(
                "{} gives up its {}, which is still on its way",
                name(id),
                take(id)
            )
        }
        Action::Renew(id) => {
            let came = came(id, "there is no such grant");
            format!(
                "the store carries out {}'s {}: {came}",
                name(id),
                renewal(id)
            )
        }
        Action::RenewLate(id) => {
            let renewal = renewal(id);
            format!(
                "{} gives up its {renewal}, which is still on its way",
                name(id)
            )
        }
        Action::Hear(id) => {
            let heard = was(id).heard.map(|heard| answer(heard.answer));
            let heard = heard.unwrap_or_default();
            match is(id).phase {
                Phase::Bidding => format!(
                    "{} hears: {heard}, which too few have confirmed; it will ask again",
                    name(id)
                ),
                _ => format!("{} hears: {heard}", name(id)),
            }
        }
        Action::Miss(id) => format!("{} does not hear the answer", name(id)),
        Action::Stumble(id, late) => {
            let (take, late) = (take(id), late_or(late, "which is done"));
            let id = name(id);
            format!("{id}'s {take} is answered by an error; it gives up its place, {late}")
        }
        Action::End(id) => format!("{} wants no more", name(id)),
        Action::Last(id) => format!("{} will want nothing more under its id", name(id)),
        Action::Free(id, late) => {
            let (what, late) = (request(was(id).give_back()), late_or(late, "which is done"));
            format!("{} sends its {what}, {late}", name(id))
        }
        Action::Settle(id, tidy) => {
            let (id, tidily) = (name(id), tidily(tidy));
            format!("{id} is done{tidily}")
        }
        Action::Again(id, tidy) => {
            let tidily = tidily(tidy);
            format!("{} stands again under its id{tidily}", name(id))
        }
        Action::Write(id, late) => {
            let late = late_or(late, "which is taken");
            format!("{} writes to the fenced register, {late}", name(id))
        }
        Action::Written => "the late write arrives at the fenced register".to_owned(),
        Action::Late(place) | Action::Lost(place) => {
            let Some(late) = before.late[place] else {
                return String::new();
            };
            let end = match action {
                Action::Late(_) => "arrives, late",
                _ => "is lost",
            };
            format!("{}'s {} {end}", name(late.by), request(late.request))
        }
        Action::PeerTakes => "the JVM peer takes, or extends what it has".to_owned(),
        Action::PeerFrees => "the JVM peer frees what it has".to_owned(),
        Action::Prune => "time passes, and what nobody uses is pruned".to_owned(),
        Action::Copy => "the replica hears of everything".to_owned(),
        Action::FailOver => "the replica becomes the master".to_owned(),
        Action::Tick => "time passes".to_owned(),
    }
}
