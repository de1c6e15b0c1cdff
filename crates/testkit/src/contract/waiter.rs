//! [`Waiter`]: a bid that waits as the engine does, by hints.

use std::time::Duration;

use tenure::backend::{Backend, Bid, Hint, Hints, Interest};

use super::{Case, Subject, Win};

/// A refused bid that has a place where there is one, and listens.
pub(crate) struct Waiter {
    pub(crate) bid: Bid,
    pub(crate) hints: Hints,
    pub(crate) rank: Option<u32>,
}

impl Waiter {
    /// Asks, is refused, listens, asks once more: as a waiter must.
    pub(crate) async fn stand<S: Subject>(
        case: &Case<'_, S>,
        client: &S::Backend,
        mut bid: Bid,
    ) -> Self {
        bid.queue = true;
        let first = case.lose(client, &bid, "somebody owns").await;
        bid.score = first.place().map(|place| place.score.clone());
        let hints = client.changes(&Interest::in_turn(&bid));
        case.settle().await;
        let again = case.lose(client, &bid, "somebody still owns").await;
        let rank = again.place().map(|place| place.rank);
        Self { bid, hints, rank }
    }

    /// Waits for hints and tries at each, until it has won or `limit` is over.
    pub(crate) async fn win_by_hints<S: Subject>(
        &mut self,
        case: &Case<'_, S>,
        client: &S::Backend,
        limit: Duration,
        why: &str,
    ) -> Win {
        let end = case.clock().now() + limit;
        loop {
            let hint = case.clock().limit(end, self.hints.next()).await;
            match hint {
                Some(Some(_)) => {}
                Some(None) => panic!("{why}: the stream ended before the backend was closed"),
                None => panic!(
                    "{why}: {:?} was not told within {limit:?}",
                    self.bid.contender
                ),
            }
            match case.try_win(client, &self.bid).await {
                Ok(win) => return win,
                Err(answer) => {
                    if let Some(place) = answer.place() {
                        self.bid.score = Some(place.score.clone());
                    }
                }
            }
        }
    }

    /// The hints that come within `length`.
    pub(crate) async fn heard<S: Subject>(
        &mut self,
        case: &Case<'_, S>,
        length: Duration,
    ) -> Vec<Hint> {
        hints_within(case, &mut self.hints, length).await
    }
}

/// All hints that come within `length`.
pub(crate) async fn hints_within<S: Subject>(
    case: &Case<'_, S>,
    hints: &mut Hints,
    length: Duration,
) -> Vec<Hint> {
    let end = case.clock().now() + length;
    let mut heard = Vec::new();
    while let Some(Some(hint)) = case.clock().limit(end, hints.next()).await {
        heard.push(hint);
        assert!(heard.len() < 10_000, "hints without end");
    }
    heard
}
