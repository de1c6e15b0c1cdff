//! Step 4: waking who waits, by looking.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures_core::Stream;
use tenure::backend::{Hint, Hints, Interest};
use tokio::sync::{mpsc, watch as signal};

use crate::{INTERVAL, Whiteboard};

/// A stream of hints for `interest`, until `open` says no.
///
/// One look for each stream keeps this short. A store whose looks cost a round
/// trip makes one for all its streams together.
pub(crate) fn watch(
    board: &Arc<Whiteboard>,
    interest: &Interest,
    open: signal::Receiver<bool>,
) -> Hints {
    // One hint that waits is as good as ten: a full channel drops the rest.
    let (tell, hints) = mpsc::channel(1);
    tokio::spawn(look(Arc::downgrade(board), interest.clone(), open, tell));
    Hints::new(Watch(hints))
}

/// Looks at every interval, until no waiter listens or the client is closed.
async fn look(
    board: Weak<Whiteboard>,
    interest: Interest,
    mut open: signal::Receiver<bool>,
    tell: mpsc::Sender<Hint>,
) {
    let mut before = None;
    while let Some(board) = board.upgrade() {
        if !*open.borrow() {
            return;
        }
        let answer = board.table.owner(&interest.name);
        let owner = answer.owner();
        let is_free = !owner.has_owner(answer.now());
        // Again at every look while it is free: a waiter that came too late
        // for one hint needs the next. Quiet otherwise: a renewal is no change.
        if interest.waiter.is_some() && is_free {
            tell.try_send(Hint::Turn).ok();
        }
        let token = owner.token();
        if interest.owner && before.replace(token).is_some_and(|before| before != token) {
            tell.try_send(Hint::Changed).ok();
        }
        let clock = board.table.clock().clone();
        drop(board);
        tokio::select! {
            () = clock.sleep(INTERVAL) => {}
            () = tell.closed() => return,
            _ = open.wait_for(|open| !open) => return,
        }
    }
}

struct Watch(mpsc::Receiver<Hint>);

impl Stream for Watch {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.0.poll_recv(cx)
    }
}
