//! The machine, step by step.

use std::time::Duration;

use crate::backend::{Answer, Hint, Nonce};
use crate::clock::Moment;
use crate::engine::event::{Call, Effect, Event, Finish, Stop};
use crate::engine::machine::Machine;
use crate::engine::random::Random;
use crate::engine::settings::{ContentionSettings, Mode};
use crate::error::{Error, ErrorKind, LossCause, Outcome};
use crate::model::{
    ContenderId, FencingToken, Jitter, LeaseTerms, MutexName, MutexOwner, Purpose, StoreTime,
};

fn settings(mode: Mode) -> ContentionSettings {
    ContentionSettings {
        purpose: Purpose::Lock,
        name: MutexName::new("m").unwrap(),
        contender: ContenderId::new("me").unwrap(),
        unique_id: false,
        shares_fence: false,
        terms: LeaseTerms::default(),
        mode,
        jitter: Jitter::default(),
        safety_look: Duration::from_secs(2),
        initial_delay: Duration::ZERO,
        courtesy: Duration::ZERO,
        quiesce: Duration::from_secs(30),
    }
}

fn at(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

/// A grant with this much of its lease left.
fn won(left: Duration) -> Answer {
    let now = StoreTime::from_millis(1_000_000);
    let me = ContenderId::new("me").unwrap();
    let owner = MutexOwner::new(me, now, now, now + left);
    Answer::won(owner.with_token(FencingToken::from_store(7).unwrap()), now)
}

fn refused(left: Duration) -> Answer {
    let now = StoreTime::from_millis(1_000_000);
    let other = ContenderId::new("other").unwrap();
    Answer::refused(MutexOwner::foreign(other).owning_until(now + left), now)
}

fn lost_answer() -> Error {
    Error::new(ErrorKind::Timeout, Outcome::MayHave)
}

/// The nonce of the first bid of this seed.
fn nonce() -> Nonce {
    Random::seeded(1).nonce().wanted_for(Purpose::Lock)
}

fn start(mode: Mode) -> Machine {
    let (machine, effects) = Machine::start(settings(mode), Random::seeded(1), None, at(0));
    assert!(matches!(effects[..], [Effect::Call(Call::Acquire(_), _)]));
    machine
}

fn owning() -> Machine {
    let mut machine = start(Mode::Always);
    let effects = machine.on(at(10), Event::Acquired(Ok(won(Duration::from_secs(16)))));
    assert!(matches!(
        effects[..],
        [Effect::Begin { .. }, Effect::Renew { .. }]
    ));
    machine
}

#[test]
fn a_first_refusal_subscribes_and_looks_once_more() {
    let mut machine = start(Mode::Once);
    let refusal = || Event::Acquired(Ok(refused(Duration::from_secs(9))));
    let effects = machine.on(at(1), refusal());
    assert!(matches!(
        effects[..],
        [
            Effect::Observe(_),
            Effect::Subscribe,
            Effect::Call(Call::Acquire(_), _)
        ]
    ));
    let effects = machine.on(at(2), refusal());
    assert!(matches!(effects[..], [Effect::Observe(_)]));
    assert_eq!(machine.wake_at(), Some(at(2_002)), "the safety look");
}

#[test]
fn a_turn_that_comes_while_an_attempt_is_under_way_is_not_forgotten() {
    let mut machine = start(Mode::Once);
    machine.on(at(1), Event::Acquired(Ok(refused(Duration::from_secs(9)))));
    assert!(machine.on(at(2), Event::Hint(Hint::Turn)).is_empty());
    let effects = machine.on(at(3), Event::Acquired(Ok(refused(Duration::from_secs(9)))));
    assert!(matches!(
        effects[..],
        [Effect::Observe(_), Effect::Call(Call::Acquire(_), _)]
    ));
}

#[test]
fn a_broadcast_that_comes_while_an_attempt_is_under_way_is_looked_into_soon() {
    let mut machine = start(Mode::Once);
    machine.on(at(1), Event::Acquired(Ok(refused(Duration::from_secs(9)))));
    assert!(machine.on(at(2), Event::Hint(Hint::Changed)).is_empty());
    let effects = machine.on(at(3), Event::Acquired(Ok(refused(Duration::from_secs(9)))));
    assert!(matches!(effects[..], [Effect::Observe(_)]));
    // Not at once: it reaches all contenders. Not only at the safety look either.
    assert_eq!(machine.wake_at(), Some(at(501)), "as a broadcast is");
    machine.on(at(501), Event::Timer);
    machine.on(
        at(502),
        Event::Acquired(Ok(refused(Duration::from_secs(9)))),
    );
    assert_eq!(machine.wake_at(), Some(at(2_502)), "once, not for ever");
}

#[test]
fn the_nonce_is_the_same_for_every_attempt_and_new_for_every_bid() {
    let nonce_in = |effects: &[Effect]| {
        effects.iter().find_map(|effect| match effect {
            Effect::Call(Call::Acquire(bid), _) => Some(bid.nonce),
            _ => None,
        })
    };
    let (mut machine, effects) =
        Machine::start(settings(Mode::Always), Random::seeded(1), None, at(0));
    let first = nonce_in(&effects).unwrap();
    machine.on(at(1), Event::Acquired(Err(lost_answer())));
    let again = machine.on(machine.wake_at().unwrap(), Event::Timer);
    assert_eq!(nonce_in(&again), Some(first));
    machine.on(at(100), Event::Acquired(Ok(won(Duration::from_secs(16)))));
    machine.on(
        at(200),
        Event::Renewed {
            nonce: nonce(),
            sent: sight(at(190)),
            batch: 1,
            result: Ok(refused(Duration::from_secs(1))),
        },
    );
    let next = machine.on(at(210), Event::Quiesced { tenure_number: 1 });
    assert_ne!(nonce_in(&next).unwrap(), first);
}

#[test]
fn a_grant_with_less_left_is_believed_for_less() {
    let mut machine = start(Mode::Once);
    let effects = machine.on(at(10), Event::Acquired(Ok(won(Duration::from_secs(3)))));
    let Effect::Begin { deadline, .. } = &effects[0] else {
        panic!("{effects:?}")
    };
    assert_eq!(*deadline, at(3_000) - LeaseTerms::default().margin());
    // And it is renewed before that, with room to retry.
    let Effect::Renew { at: due, .. } = &effects[1] else {
        panic!("{effects:?}")
    };
    assert!(*due <= at(2_000), "{due:?}");
}

#[test]
fn a_renewal_that_leaves_less_is_followed_by_the_next_one_sooner() {
    let mut machine = owning();
    for (sent, left, latest) in [(10_000, 16_000, 20_000), (20_000, 6_000, 24_000)] {
        let effects = machine.on(
            at(sent + 1),
            Event::Renewed {
                nonce: nonce(),
                sent: sight(at(sent)),
                batch: 1,
                result: Ok(won(Duration::from_millis(left))),
            },
        );
        let Effect::Renew { at: due, .. } = &effects[1] else {
            panic!("{effects:?}")
        };
        assert!(*due <= at(latest), "{due:?}");
    }
}

#[test]
fn a_win_that_is_over_before_it_is_heard_of_is_given_back() {
    let mut machine = start(Mode::Once);
    let effects = machine.on(
        at(15_980),
        Event::Acquired(Ok(won(Duration::from_secs(16)))),
    );
    assert!(matches!(
        effects[..],
        [Effect::Call(Call::Release { .. }, _)]
    ));
}

/// A store may free by an id that no other contender has, where nothing follows that
/// it could free instead.
#[test]
fn only_the_last_release_of_a_contender_is_by_its_id() {
    let is_last = |effects: &[Effect]| {
        let releases = effects.iter().filter_map(|effect| match effect {
            Effect::Call(Call::Release { is_last, .. }, _) => Some(*is_last),
            _ => None,
        });
        releases.collect::<Vec<_>>()
    };
    // Won too late: it bids again, under the same id.
    let mut machine = start(Mode::Once);
    let late = Event::Acquired(Ok(won(Duration::from_secs(16))));
    assert_eq!(is_last(&machine.on(at(15_980), late)), [false]);
    for (mode, is_stopped, expected) in [
        (Mode::Once, true, true),
        (Mode::Always, true, true),
        (Mode::Always, false, false),
    ] {
        let mut machine = start(mode);
        machine.on(at(10), Event::Acquired(Ok(won(Duration::from_secs(16)))));
        if is_stopped {
            machine.on(at(20), Event::Stop(Stop::Wanted));
        }
        let effects = machine.on(at(30), Event::Quiesced { tenure_number: 1 });
        assert_eq!(is_last(&effects), [expected], "{mode:?}, {is_stopped}");
    }
}

#[test]
fn a_deadline_that_has_passed_comes_before_the_renewal_that_would_have_saved_it() {
    let mut machine = owning();
    let effects = machine.on(
        at(16_000),
        Event::Renewed {
            nonce: nonce(),
            sent: sight(at(10_000)),
            batch: 1,
            result: Ok(won(Duration::from_secs(16))),
        },
    );
    assert!(matches!(
        effects[..],
        [
            Effect::StopRenewing,
            Effect::End(LossCause::Deadline),
            Effect::Quiesce {
                cause: LossCause::Deadline,
                ..
            }
        ]
    ));
}

#[test]
fn the_local_side_is_told_to_end_once() {
    let mut machine = owning();
    let told = |effects: &[Effect]| {
        effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Quiesce { .. }))
            .count()
    };
    assert_eq!(told(&machine.on(at(100), Event::Stop(Stop::Wanted))), 1);
    assert_eq!(told(&machine.on(at(101), Event::Stop(Stop::Closed))), 0);
    assert_eq!(
        told(&machine.on(at(16_000), Event::Timer)),
        0,
        "lost while it was ending"
    );
}

#[test]
fn the_end_of_an_earlier_tenure_does_not_end_this_one() {
    let mut machine = owning();
    assert!(
        machine
            .on(at(100), Event::Quiesced { tenure_number: 0 })
            .is_empty()
    );
    assert!(
        machine
            .on(at(100), Event::Expired { tenure_number: 0 })
            .is_empty()
    );
    let effects = machine.on(at(100), Event::Quiesced { tenure_number: 1 });
    assert!(matches!(
        effects[..],
        [
            Effect::StopRenewing,
            Effect::End(_),
            Effect::Call(Call::Release { .. }, _)
        ]
    ));
}

#[test]
fn a_hung_batch_is_tried_again_in_halves() {
    let mut machine = owning();
    let mut batch = 64;
    for (now, half) in [(10_100, 32), (10_200, 16), (10_300, 8)] {
        let effects = machine.on(
            at(now),
            Event::Renewed {
                nonce: nonce(),
                sent: sight(at(now - 50)),
                batch,
                result: Err(lost_answer()),
            },
        );
        let Effect::Renew { max_batch, .. } = &effects[0] else {
            panic!("{effects:?}")
        };
        assert_eq!(*max_batch, half);
        batch = half;
    }
}

#[test]
fn stopping_a_bid_undoes_it_only_if_something_may_be_left() {
    let mut machine = start(Mode::Once);
    machine.on(at(1), Event::Acquired(Ok(refused(Duration::from_secs(9)))));
    machine.on(at(2), Event::Acquired(Ok(refused(Duration::from_secs(9)))));
    let effects = machine.on(at(3), Event::Stop(Stop::Wanted));
    assert!(matches!(
        effects[..],
        [Effect::Unsubscribe, Effect::Finish(Finish::NotOwner)]
    ));

    let mut machine = start(Mode::Once); // its attempt is still under way
    let effects = machine.on(at(3), Event::Stop(Stop::Wanted));
    assert!(matches!(
        effects[..],
        [Effect::DropCall, Effect::Call(Call::Leave(_), _)]
    ));
}

fn sight(now: Moment) -> crate::clock::Sight {
    crate::clock::Sight { now, wall_lead: 0 }
}

/// A user who comes a moment too late says so before the machine has heard that
/// none came. It must not wait for that one for ever.
#[test]
fn one_who_came_too_late_before_that_was_known_is_bid_for_again() {
    for comes_first in [true, false] {
        let mut machine = owning();
        let unclaimed = Event::Unclaimed {
            nonce: nonce(),
            until: None,
        };
        let mut events = vec![Event::Attended { tenure_number: 1 }, unclaimed];
        if !comes_first {
            events.reverse();
        }
        let mut effects = Vec::new();
        for event in events {
            effects.extend(machine.on(at(10_000), event));
        }
        effects.extend(machine.on(at(10_001), Event::Quiesced { tenure_number: 1 }));
        let freed = Answer::won(MutexOwner::NONE, StoreTime::from_millis(1_010_000));
        effects.extend(machine.on(at(10_002), Event::Released(Ok(freed))));
        let bids = |effect: &Effect| matches!(effect, Effect::Call(Call::Acquire(_), _));
        assert!(effects.iter().any(bids), "{comes_first}: {effects:?}");
    }
}

/// A request of a won bid was given up and may be applied late. The next bid has the same id: a
/// store that tells bids by nothing else would undo what that one wins.
#[test]
fn what_is_tidied_up_of_a_bid_is_not_told_by_an_id_that_the_next_bid_has() {
    let mut unique = settings(Mode::Always);
    unique.unique_id = true;
    let (mut machine, _) = Machine::start(unique, Random::seeded(1), None, at(0));
    machine.on(at(1), Event::Acquired(Err(lost_answer())));
    let again = machine.wake_at().expect("it tries again");
    machine.on(again, Event::Timer);
    machine.on(again, Event::Acquired(Ok(won(Duration::from_secs(16)))));
    let mut effects = machine.on(at(12_000), Event::Attended { tenure_number: 1 });
    let unclaimed = Event::Unclaimed {
        nonce: nonce(),
        until: None,
    };
    effects.extend(machine.on(at(12_000), unclaimed));
    effects.extend(machine.on(at(12_001), Event::Quiesced { tenure_number: 1 }));
    let freed = Answer::won(MutexOwner::NONE, StoreTime::from_millis(1_010_000));
    effects.extend(machine.on(at(12_002), Event::Released(Ok(freed))));
    let next = effects.iter().find_map(|effect| match effect {
        Effect::Call(Call::Acquire(bid), _) => Some(bid.seen),
        _ => None,
    });
    let token = FencingToken::from_store(7).ok();
    assert_eq!(next, Some(token), "an old grant is not found again");
    let ids = effects.iter().filter_map(|effect| match effect {
        Effect::TidyLater(bid) => Some(("undone", bid.unique_id)),
        Effect::Call(Call::Acquire(bid), _) => Some(("bid", bid.unique_id)),
        _ => None,
    });
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids, [("undone", false), ("bid", true)], "{effects:?}");
    // Only the end of the next bid may undo it.
    let ends = machine.on(at(12_003), Event::Stop(Stop::Wanted));
    let undoes =
        |effect: &Effect| matches!(effect, Effect::Call(Call::Leave(bid), _) if bid.unique_id);
    assert!(ends.iter().any(undoes), "{ends:?}");
}

/// Denied what it asked for, and denied to undo what that may have done: its
/// user hears of it now, not after a lease.
#[test]
fn who_can_neither_take_nor_undo_says_so_at_once() {
    let denied = || Error::new(ErrorKind::Denied, Outcome::MayHave);
    let mut machine = start(Mode::Once);
    let effects = machine.on(at(1), Event::Acquired(Err(denied())));
    assert!(matches!(effects[..], [Effect::Call(Call::Leave(_), _)]));
    let effects = machine.on(at(2), Event::Left(Err(denied())));
    assert!(
        matches!(
            effects[..],
            [Effect::TidyLater(_), Effect::Finish(Finish::Failed(_))]
        ),
        "{effects:?}"
    );
}

/// The thread that would have sent the request was held up, or no answer came: what stands in the
/// store's queue may stand there for longer than a lease.
#[test]
fn a_place_in_the_queue_that_could_not_be_left_is_tried_once_more() {
    let mut machine = start(Mode::Once);
    for _ in 0..2 {
        let queued = refused(Duration::from_secs(9)).at_place(1, "place");
        machine.on(at(1), Event::Acquired(Ok(queued)));
    }
    let effects = machine.on(at(2), Event::Stop(Stop::Wanted));
    let leaves = |effect: &Effect| matches!(effect, Effect::Call(Call::Leave(_), _));
    assert!(effects.iter().any(leaves), "{effects:?}");
    let until = machine.wake_at().expect("it does not wait for ever");
    let effects = machine.on(until, Event::Timer);
    let is_undone = |effect: &Effect| matches!(effect, Effect::TidyLater(_));
    assert!(effects.iter().any(is_undone), "{effects:?}");
}
