//! Worlds that differ in names only are one world.

use crate::client::{GIVE_UP_PLACE, Phase, Then};
use crate::rule::Rule;
use crate::setting::{Replicas, Setting};
use crate::store::{InUse, Names, Store};
use crate::words::{Answer, CONTENDERS, Id, Nonce, Request, Token};
use crate::world::{Late, WorldState};

/// The world under the names that all worlds like it have: numbers without gaps, and if
/// they are to be `symmetric`, without what no contender can ask for any more, the bids of each
/// contender in the order in which they are met, and contenders in the least order.
pub(crate) fn named<S: Store>(mut state: WorldState<S>, setting: &Setting) -> WorldState<S> {
    if state.clock <= state.master.fence() {
        // A clock behind the fence decides nothing.
        state.clock = 0;
    }
    bury(&mut state);
    if setting.symmetric {
        if setting.rule == Rule::Now {
            forget(&mut state, setting.writes);
        }
        if setting.replicas != Replicas::Asynchronous {
            // No property asks.
            state.since = setting.lease;
        }
    }
    let mut in_use = InUse::default();
    for (client, by) in state.clients.iter().zip(0..) {
        client.uses(by, &mut in_use);
    }
    for late in state.late.iter().flatten() {
        late.request.uses(late.by, &mut in_use);
    }
    state.master.uses(&mut in_use);
    if let Some(replica) = &state.replica {
        replica.uses(&mut in_use);
    }
    in_use.token(state.register);
    in_use.token(state.writing.unwrap_or_default());
    in_use.token(Token {
        number: state.top,
        order: state.order,
    });
    in_use.number(state.clock);
    let mut names = in_use.names();
    if !setting.symmetric {
        names.bids = Names::same().bids;
    } else {
        let state = renamed(state, &names);
        let mut order: [Id; CONTENDERS] = [0, 1, 2];
        // Who shares its id with the JVM peer stays first.
        order.sort_by_cached_key(|by| (setting.peer != Some(*by), key(&state, *by)));
        for (new, old) in order.into_iter().enumerate() {
            names.ids[usize::from(old)] = u8::try_from(new).unwrap_or_default();
        }
    }
    sorted(renamed(state, &names))
}

/// Another contender, with an id of its own, takes the room of one that has ended once nothing
/// of that is in use or on its way. A fence that names it names no contender then.
fn bury<S: Store>(state: &mut WorldState<S>) {
    for (client, by) in state.clients.iter_mut().zip(0..) {
        let WorldState {
            master, replica, ..
        } = state;
        let has = master.has(by) || replica.is_some_and(|replica| replica.has(by));
        let mut late = state.late.iter().flatten();
        if client.phase != Phase::Gone || has || late.any(|late| late.by == by) {
            continue;
        }
        client.phase = Phase::Out;
        master.forget(by);
        if let Some(replica) = replica {
            replica.forget(by);
        }
    }
}

/// All that a world has of one contender: who have the same here are the same.
fn key<S: Store>(state: &WorldState<S>, by: Id) -> impl Ord + use<S> {
    let mut late = state.late.map(|late| late.filter(|late| late.by == by));
    late.sort_unstable();
    let late = late.map(|late| late.map(|late| late.request));
    let replica = state.replica.map(|replica| replica.part(by));
    let client = state.clients[usize::from(by)];
    (client, state.master.part(by), replica, late)
}

/// Forgets what can make no difference any more, by the rule of now. A grant that no server has will not come
/// back: what names it finds nothing, whatever its number was.
fn forget<S: Store>(state: &mut WorldState<S>, writes: bool) {
    let (master, replica) = (state.master, state.replica);
    let grants = |by: Id, nonce: Nonce| {
        let theirs = replica.and_then(|replica| replica.grant(by, nonce));
        [master.grant(by, nonce), theirs].into_iter().flatten()
    };
    let known = |by: Id, nonce: Nonce, token: Token| {
        let mut grants = grants(by, nonce);
        grants.find(|grant| *grant == token).unwrap_or_default()
    };
    // What is found under an id must be newer than what was seen, and whatever is granted
    // from now on is.
    let seen = |by: Id, nonce: Nonce, seen: u8| {
        let mut grants = grants(by, nonce).map(|token| token.number);
        grants.find(|number| *number <= seen).unwrap_or_default()
    };
    let without = |by: Id, mut request: Request| {
        match &mut request {
            Request::Renew { nonce, token } | Request::Release { nonce, token } => {
                *token = known(by, *nonce, *token);
            }
            Request::Take {
                nonce,
                seen: its,
                reckoned,
                ..
            } => {
                *its = seen(by, *nonce, *its);
                // A fence does not fall but by a fail-over, which ends what was reckoned.
                // Where it is pruned, nothing that was reckoned counts.
                *reckoned *= u8::from(*reckoned >= master.fence());
            }
            Request::Leave { nonce, seen: its } => *its = seen(by, *nonce, *its),
            Request::ReleaseById => {}
        }
        request
    };
    for (client, by) in state.clients.iter_mut().zip(0..) {
        let nonce = client.nonce;
        match &mut client.phase {
            Phase::Owning { token, .. } if !writes => *token = known(by, nonce, *token),
            Phase::Freeing {
                held: Some(token),
                then: Then::Nothing,
            } => *token = Token::default(),
            Phase::Freeing {
                held: Some(token), ..
            } => *token = known(by, nonce, *token),
            _ => {}
        }
        client.seen = seen(by, nonce, client.seen);
        if let Some(heard) = &mut client.heard
            && let Answer::Won { token, .. } = &mut heard.answer
            && !writes
        {
            *token = known(by, nonce, *token);
        }
    }
    // The register refuses it, now and later.
    let refused = state.register.number;
    state.writing = state.writing.filter(|token| token.number >= refused);
    let (clients, late) = (state.clients, state.late);
    let is_bid = |by: Id, nonce: Nonce| {
        let is_take = |late: Late| matches!(late.request, Request::Take { .. });
        let mut late = late.into_iter().flatten();
        clients[usize::from(by)].knows(nonce)
            || grants(by, nonce).next().is_some()
            || late.any(|it| it.by == by && it.request.nonce() == nonce && is_take(it))
    };
    for place in &mut state.late {
        *place = place.and_then(|Late { by, request }| {
            let request = match without(by, request) {
                Request::Renew { token, .. } | Request::Release { token, .. }
                    if token == Token::default() =>
                {
                    return None;
                }
                Request::Leave { nonce, .. } if !is_bid(by, nonce) && S::HAS_NONCES => {
                    GIVE_UP_PLACE
                }
                Request::Leave { nonce, .. } if !is_bid(by, nonce) => return None,
                request => request,
            };
            Some(Late { by, request })
        });
    }
}

/// The order in which requests were given up means nothing.
fn sorted<S>(mut state: WorldState<S>) -> WorldState<S> {
    state
        .late
        .sort_unstable_by_key(|late| (late.is_none(), *late));
    state
}

fn renamed<S: Store>(state: WorldState<S>, names: &Names) -> WorldState<S> {
    let late = |late: Late| Late {
        by: names.id(late.by),
        request: late.request.renamed(late.by, names),
    };
    WorldState {
        clients: names.each([0, 1, 2].map(|by: Id| {
            let client = state.clients[usize::from(by)];
            client.renamed(by, names)
        })),
        late: state.late.map(|one| one.map(late)),
        master: state.master.renamed(names),
        replica: state.replica.map(|replica| replica.renamed(names)),
        top: names.numbers[usize::from(state.top)],
        clock: names.numbers[usize::from(state.clock)],
        order: names.orders[usize::from(state.order)],
        register: names.token(state.register),
        writing: state.writing.map(|token| names.token(token)),
        ..state
    }
}
