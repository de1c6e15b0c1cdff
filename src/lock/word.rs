//! [`Word`]: what an acquisition hears of its contention.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use super::hand_over::OwnerPlace;
use crate::engine::{Finish, Listener, Notice, Tenure};
use crate::error::{Error, LossCause};
use crate::sync::Mutex;

/// What an acquisition hears of its contention, and the place in the queue of
/// the guard that it leads to.
#[derive(Debug)]
pub(super) struct Word {
    said: Mutex<Said>,
    pub(super) place: OwnerPlace,
}

#[derive(Debug)]
struct Said {
    began: Option<Tenure>,
    end: Option<End>,
    heard: Heard,
    /// Another owned when it was first asked for.
    was_refused: bool,
    waker: Option<Waker>,
}

/// What the store has said so far.
#[derive(Debug)]
pub(super) enum Heard {
    /// Asked, and no word yet.
    Nothing,
    Trouble(Error),
    Answer,
}

/// How a contention ended.
#[derive(Debug)]
pub(super) enum End {
    Finished(Finish),
    /// Without a last word: the engine's tasks have ended.
    CutOff,
}

/// What comes first.
#[derive(Debug)]
pub(super) enum Began {
    Tenure(Tenure),
    Ended(End),
}

impl Word {
    pub(super) fn new(heard: Heard) -> Self {
        Self {
            said: Mutex::new(Said {
                began: None,
                end: None,
                heard,
                was_refused: false,
                waker: None,
            }),
            place: OwnerPlace::default(),
        }
    }

    /// The tenure, or that there is none.
    pub(super) async fn began(&self) -> Began {
        self.when(|said| match said.began.take() {
            Some(tenure) => Some(Began::Tenure(tenure)),
            None => said.end.take().map(Began::Ended),
        })
        .await
    }

    /// The end.
    pub(super) async fn end(&self) -> End {
        self.when(|said| said.end.take()).await
    }

    /// Returns when the store has said something.
    pub(super) async fn first_word(&self) {
        self.when(|said| (!said.awaits_first_word()).then_some(()))
            .await;
    }

    /// Whether the store has not said anything.
    pub(super) fn awaits_first_word(&self) -> bool {
        self.said.lock().awaits_first_word()
    }

    /// Whether another stood in the way.
    pub(super) fn was_refused(&self) -> bool {
        self.said.lock().was_refused
    }

    /// What the store has said; nothing, from now on.
    pub(super) fn take_heard(&self) -> Heard {
        std::mem::replace(&mut self.said.lock().heard, Heard::Nothing)
    }

    /// What the store has said, for the word of the next contention. This one
    /// hears nothing more, so who waits for it is told that it is over.
    pub(super) fn pass_on_heard(&self) -> Heard {
        let mut heard = Heard::Answer;
        self.say(|said| std::mem::swap(&mut said.heard, &mut heard));
        heard
    }

    async fn when<T>(&self, look: impl Fn(&mut Said) -> Option<T>) -> T {
        poll_fn(|cx| self.poll_when(cx, &look)).await
    }

    fn poll_when<T>(&self, cx: &mut Context<'_>, look: impl Fn(&mut Said) -> Option<T>) -> Poll<T> {
        let mut said = self.said.lock();
        if let Some(word) = look(&mut said) {
            return Poll::Ready(word);
        }
        drop(said);
        // A waker is foreign code: cloned before the mutex is taken, and the
        // one before it dropped after.
        let mut waker = Some(cx.waker().clone());
        let mut said = self.said.lock();
        if let Some(word) = look(&mut said) {
            return Poll::Ready(word);
        }
        std::mem::swap(&mut said.waker, &mut waker);
        drop(said);
        Poll::Pending
    }

    /// Takes note of something, and wakes who waits for it.
    fn say(&self, note: impl FnOnce(&mut Said)) {
        let mut said = self.said.lock();
        note(&mut said);
        let waker = said.waker.take();
        drop(said);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Said {
    fn awaits_first_word(&self) -> bool {
        matches!(self.heard, Heard::Nothing) && self.began.is_none() && self.end.is_none()
    }
}

impl Listener for Word {
    fn hear(&self, notice: Notice) {
        match notice {
            Notice::Began(tenure, ..) => {
                self.say(|said| {
                    said.began = Some(tenure);
                    said.heard = Heard::Answer;
                });
            }
            // A guard ends by being dropped.
            Notice::Quiesce(LossCause::Released | LossCause::Closed, _) => {}
            Notice::Quiesce(..) => self.place.leave(),
            Notice::Observed(..) => self.say(|said| {
                said.was_refused = true;
                said.heard = Heard::Answer;
            }),
            Notice::Trouble(error) => {
                tracing::debug!(target: "tenure::lock", "will try again: {error}");
                self.say(|said| {
                    // An answer is not forgotten over later trouble.
                    if !matches!(said.heard, Heard::Answer) {
                        said.heard = Heard::Trouble(error);
                    }
                });
            }
            Notice::Finished(end) => {
                // In this order: a task that is told that the lock is free finds
                // it so.
                self.place.leave();
                self.say(|said| said.end = Some(End::Finished(end)));
            }
        }
    }

    fn ends_at_once(&self, cause: LossCause) -> bool {
        // The coordinator's close does not wait until a guard is dropped.
        cause == LossCause::Closed
    }

    fn cut_off(&self) {
        self.place.leave();
        self.say(|said| said.end = Some(End::CutOff));
    }
}
