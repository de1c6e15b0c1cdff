//! A waiter gets its turn.
//!
//! A store with an order keeps a busy client from taking again before the one
//! that waits. A store without one cannot: there the engine stays away for two
//! wake-ups after it has reached its bound, and what the store must promise is
//! that this is long enough.

use tenure::backend::Backend;

use super::case::not_applicable;
use super::{Case, Subject, Waiter};

/// A busy client that takes again at once does not keep a waiter out.
pub async fn a_busy_client_does_not_starve_a_waiter(subject: &impl Subject) {
    const ROUNDS: usize = 3;
    let sentence = "a_busy_client_does_not_starve_a_waiter";
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    if !here.profile().ordered {
        let why = "without an order the engine yields instead";
        return not_applicable(&here.profile(), sentence, why);
    }
    let name = case.name("m");
    let mut win = case.win(&here, &case.long_bid(&name, "busy")).await;
    let mut waiter = Waiter::stand(&case, &there, case.long_bid(&name, "patient")).await;
    for _ in 0..ROUNDS {
        case.release(&here, &win.held).await;
        match case.try_win(&here, &case.long_bid(&name, "busy")).await {
            // The machine stalled for longer than the place is kept.
            Ok(again) => win = again,
            Err(_) => {
                let limit = case.wake_up(&there);
                let why = "the busy one was refused";
                let win = waiter.win_by_hints(&case, &there, limit, why).await;
                return case.release(&there, &win.held).await;
            }
        }
    }
    panic!("a busy client took {ROUNDS} times before the one that waits");
}

/// A mutex left alone for two wake-ups goes to the one that waits for it.
pub async fn a_mutex_left_alone_goes_to_the_waiter(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let name = case.name("m");
    for _ in 0..5 {
        let win = case.win(&here, &case.long_bid(&name, "busy")).await;
        let bid = case.long_bid(&name, "patient");
        let mut waiter = Waiter::stand(&case, &there, bid).await;
        case.release(&here, &win.held).await;
        let limit = case.wake_up(&there);
        let why = "the busy one stays away";
        let win = waiter.win_by_hints(&case, &there, limit, why).await;
        case.release(&there, &win.held).await;
    }
}
