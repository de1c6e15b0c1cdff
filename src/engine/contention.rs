//! [`Contention`]: a running contention, as its user begins it and has it in
//! hand.

use std::sync::Arc;

use super::Engine;
use super::driver::Driver;
use super::event::{Event, Listener, Sink, Stop, Tell};
use super::life::ContentionView;
use super::settings::{Beginning, ContentionSettings, Mode};
use super::slot::{DrivenHere, DriverSlot, PolledBy};
use super::tenure::Tenure;
use crate::backend::{Backend, Nonce};
use crate::clock::{Moment, Sight};
use crate::model::{ContenderId, MutexName, Purpose};

impl Engine {
    /// How a contention behaves under the settings of all.
    #[inline]
    pub(crate) fn contention_settings(
        &self,
        purpose: Purpose,
        name: MutexName,
        contender: ContenderId,
        mode: Mode,
    ) -> ContentionSettings {
        let settings = self.settings();
        ContentionSettings {
            purpose,
            name,
            contender,
            unique_id: false,
            shares_fence: false,
            terms: self.terms(),
            mode,
            jitter: settings.jitter,
            safety_look: self.backend().profile().safety_look,
            initial_delay: settings.initial_delay,
            courtesy: self.courtesy(),
            quiesce: settings.quiesce,
        }
    }

    /// Starts a contention that tells `sink` what happens, the last word being
    /// [`Notice::Finished`](super::Notice::Finished).
    ///
    /// `hear_owner`: whether every change of owner is of interest, or only
    /// the contender's own turn.
    pub(crate) fn contend(
        &self,
        settings: ContentionSettings,
        hear_owner: bool,
        sink: Tell,
    ) -> Contention {
        let beginning = Beginning {
            sent: self.clock().look_before(),
            is_at_home: false,
            nonce: None,
        };
        let sink = Sink::Tell(sink);
        self.begin(settings, hear_owner, sink, PolledBy::Task, beginning)
    }

    /// The same for a caller that makes the [first
    /// call](Contention::call_here) itself, and has seen [that it
    /// may](Self::look_open), and `sent` with that, without having waited since.
    /// `nonce` is for the first bid.
    pub(crate) fn contend_here(
        &self,
        settings: ContentionSettings,
        listener: Arc<dyn Listener>,
        nonce: Option<Nonce>,
        sent: Sight,
    ) -> Contention {
        let beginning = Beginning {
            sent,
            is_at_home: true,
            nonce,
        };
        let sink = Sink::Shared(listener);
        self.begin(settings, false, sink, PolledBy::Caller, beginning)
    }

    #[inline]
    fn begin(
        &self,
        settings: ContentionSettings,
        hear_owner: bool,
        sink: Sink,
        polled_by: PolledBy,
        beginning: Beginning,
    ) -> Contention {
        let view = ContentionView::new(self, &settings, beginning.sent.now);
        let slot = DriverSlot::new(polled_by, view);
        let driver = Driver::begin(&slot, settings, hear_owner, sink, beginning);
        slot.take(driver);
        // The coordinator's `close` has told only those who were there before.
        if self.is_closing() {
            slot.say(Event::Stop(Stop::Closed));
        }
        Contention {
            slot,
            at_drop: Some(AtDrop::Stop(Stop::Wanted)),
        }
    }
}

/// A running contention. Dropping it stops the contention in the background.
#[derive(Debug)]
pub(crate) struct Contention {
    slot: Arc<DriverSlot>,
    /// What it is told when this is dropped.
    at_drop: Option<AtDrop>,
}

#[derive(Clone, Copy, Debug)]
enum AtDrop {
    Stop(Stop),
    Abandon,
}

impl Contention {
    /// The same; dropped, it begins no further tenure, and the present one goes
    /// on while its holder likes.
    pub(crate) fn sparing_the_tenure(mut self) -> Self {
        self.at_drop = Some(AtDrop::Stop(Stop::LastTenure));
        self
    }

    /// The same; dropped, no local side is left: its bid is withdrawn or its
    /// grant given back at once.
    pub(crate) fn abandoned_when_dropped(mut self) -> Self {
        self.at_drop = Some(AtDrop::Abandon);
        self
    }

    /// Makes the call that it begins with in the caller's own future: without
    /// a task where the store's answer is all that is waited for. Returns when
    /// there is an answer, or nothing to call yet; what follows goes on in the
    /// background. Says whether it was won at once, without any wait.
    ///
    /// Dropped, or kept and not polled for a short time, the call
    /// goes on in the background too.
    pub(crate) async fn call_here(&self) -> bool {
        DrivenHere::since_it_began(&self.slot).call().await
    }

    /// `tenure` is in the hands of its holder: at the limit of that holder, if it
    /// has one, it is over before its lease is, and renewed no more.
    pub(crate) fn watch_limit(&self, tenure: &Tenure) {
        if let Some(own_end) = tenure.limit() {
            self.slot.say(Event::Limited(Arc::clone(own_end)));
        }
    }

    /// Abandons it as a drop does, and makes the call that gives it back in the
    /// caller's own future. `now` is of one who has just read the clock.
    pub(crate) async fn abandon_here(mut self, now: Option<Moment>) {
        let driven = DrivenHere::from_now_on(&self.slot);
        driven.say_and_call(Event::Abandoned, now).await;
        // Before it has been told, a drop tells it; after that, it changes nothing.
        self.at_drop = None;
    }
}

impl Drop for Contention {
    fn drop(&mut self) {
        let Some(at_drop) = self.at_drop.take() else {
            return;
        };
        // In a fork a thread that is not there may hold what the slot needs.
        if self.slot.is_forked() {
            return;
        }
        self.slot.say(match at_drop {
            AtDrop::Stop(stop) => Event::Stop(stop),
            AtDrop::Abandon => Event::Abandoned,
        });
    }
}

/// Says that the local side has ended.
#[derive(Clone, Debug)]
pub(crate) struct Quiescer {
    slot: Arc<DriverSlot>,
    tenure_number: u64,
}

impl Quiescer {
    pub(super) fn new(slot: &Arc<DriverSlot>, tenure_number: u64) -> Self {
        Self {
            slot: Arc::clone(slot),
            tenure_number,
        }
    }

    pub(crate) fn quiesced(&self) {
        let tenure_number = self.tenure_number;
        self.slot.say(Event::Quiesced { tenure_number });
    }

    /// Takes what was won in hand; false when it went back meanwhile, because
    /// the user did not come. Now the user is there, and it is contended for
    /// again.
    pub(crate) fn pick_up(&self, tenure: &Tenure) -> bool {
        let is_ours = tenure.pick_up();
        if !is_ours {
            let tenure_number = self.tenure_number;
            self.slot.say(Event::Attended { tenure_number });
        }
        is_ours
    }

    /// As the roster does.
    #[cfg(test)]
    pub(super) fn ring(&self) {
        self.slot.send(Event::Timer);
    }

    /// The tenure is over before its lease is: it is renewed no more.
    pub(crate) fn forfeit(&self) {
        let tenure_number = self.tenure_number;
        self.slot.say(Event::Expired { tenure_number });
    }
}
