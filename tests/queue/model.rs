//! Every interleaving that matters: the checker picks them, the world judges.

use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};

use super::world::{Ending, Track};

/// At random, and at random with few but nasty switches.
fn check(body: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(body.clone(), 800);
    shuttle::check_pct(body, 800, 3);
}

fn any_ending() -> Ending {
    match thread_rng().gen_range(0..5) {
        0 => Ending::Refuse,
        1 | 2 => Ending::GiveBack,
        _ => Ending::HandOver,
    }
}

#[test]
fn nobody_waits_for_ever_and_nobody_holds_with_another() {
    check(|| {
        let track = Track::new();
        let tasks: Vec<_> = (0..4).map(|id| track.spawn(id, any_ending())).collect();
        for task in tasks {
            // A lost wake-up is a deadlock, which the checker reports.
            block_on(task).unwrap();
        }
        track.judge();
    });
}

#[test]
fn whoever_is_cancelled_anywhere_leaves_the_line_intact() {
    check(|| {
        let track = Track::new();
        let tasks: Vec<_> = (0..5).map(|id| track.spawn(id, any_ending())).collect();
        for task in tasks {
            if thread_rng().gen_bool(0.5) {
                task.abort();
            }
            let _cancelled = block_on(task);
        }
        track.judge();
    });
}

#[test]
fn what_is_handed_over_is_taken_over_or_given_back_when_all_who_wait_are_cancelled() {
    check(|| {
        let track = Track::new();
        let holder = track.spawn(0, Ending::HandOver);
        let waiting: Vec<_> = (1..4).map(|id| track.spawn(id, Ending::HandOver)).collect();
        waiting.iter().for_each(shuttle::future::JoinHandle::abort);
        block_on(holder).unwrap();
        for next in waiting {
            let _cancelled = block_on(next);
        }
        track.judge();
    });
}

#[test]
fn turns_come_in_the_order_of_joining() {
    check(|| {
        let track = Track::new();
        let places: Vec<_> = (0..4).map(|id| track.join(id)).collect();
        // Started in any order, they win in the order of tnext places.
        let mut tasks = Vec::new();
        for place in places.into_iter().rev() {
            tasks.push(track.spawn_at(place, Ending::HandOver));
        }
        for task in tasks {
            block_on(task).unwrap();
        }
        assert_eq!(track.winners(), [0, 1, 2, 3]);
        track.judge();
    });
}

#[test]
fn one_that_does_not_wait_gets_it_or_leaves_no_trace() {
    check(|| {
        let track = Track::new();
        let waiting: Vec<_> = (0..2).map(|id| track.spawn(id, any_ending())).collect();
        let trying: Vec<_> = (2..4)
            .map(|id| {
                let track = track.clone();
                shuttle::future::spawn(async move {
                    let runner = super::world::Runner::new(id, &track.world);
                    if let Some(place) = track.queue.try_join(runner) {
                        track.run(place, Ending::GiveBack).await;
                    }
                })
            })
            .collect();
        for task in waiting.into_iter().chain(trying) {
            block_on(task).unwrap();
        }
        track.judge();
    });
}

#[test]
fn what_is_left_behind_is_taken_over_or_taken_back_by_one() {
    check(|| {
        let track = Track::new();
        let mut holder = track.join(0);
        let resource = track.resource();
        holder.won();
        let next: Vec<_> = (1..3).map(|id| track.spawn(id, any_ending())).collect();
        let queue = track.queue.clone();
        let back = shuttle::future::spawn(async move { drop(queue.take_back()) });
        if let Err((place, resource)) = holder.leave_behind(resource) {
            drop((resource, place));
        }
        for task in next {
            block_on(task).unwrap();
        }
        block_on(back).unwrap();
        // Those who came may have left without it.
        drop(track.queue.take_back());
        track.judge();
    });
}

/// Not at random: the checker goes through all there are, and ends.
#[test]
fn every_single_interleaving_of_a_hand_over_to_one_that_is_cancelled() {
    let body = || {
        let track = Track::with_quick_callbacks();
        let (mut holder, next) = (track.join(0), track.join(1));
        let resource = track.resource();
        let next = track.spawn_at(next, Ending::GiveBack);
        holder.won();
        next.abort();
        drop(holder.hand_over(resource));
        let _cancelled = block_on(next);
        track.judge();
    };
    let all = shuttle::scheduler::DfsScheduler::new(None, false);
    let interleavings = shuttle::Runner::new(all, shuttle::Config::default()).run(body);
    assert!(interleavings > 100, "{interleavings}");
}
