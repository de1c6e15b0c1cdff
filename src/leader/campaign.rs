//! [`Campaign`]: standing for election, event by event.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use super::offices::Offices;
use crate::engine::{Contention, Engine, GivenBack, Mode, Notice, Quiescer, Tenure};
use crate::error::{Error, ErrorKind, LeaseLost, LossCause, Outcome, Result};
use crate::model::{ContenderId, MutexName, MutexOwner, MutexState, Purpose};

/// What happens in a campaign.
#[derive(Debug)]
#[non_exhaustive]
pub enum CampaignEvent<L = Leadership> {
    /// Elected. Lead while the leadership lives and is not lost.
    Elected(L),
    /// Leads no more, or, when the coordinator is closed, is to end: the
    /// [`Leadership`] is valid until it is dropped then. Drop it to stand again
    /// or to let `close` go on.
    Deposed(LeaseLost),
    /// Who leads has changed.
    Observed(MutexState),
    /// Something failed that will be tried again.
    Trouble(Error),
}

/// An office that has been won.
///
/// Dropped, it is resigned: the store gives it to another, and the campaign
/// goes on standing for the next election.
#[must_use = "dropping a leadership resigns it"]
#[derive(Debug)]
pub struct Leadership {
    tenure: Tenure,
    quiescer: Quiescer,
}

impl Leadership {
    /// The period of office.
    #[must_use]
    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    /// Whether the reader of the campaign still gets it.
    fn is_taken_up(&self) -> bool {
        self.quiescer.pick_up(&self.tenure)
    }

    /// Gives the office back and waits for the store's word. It is over at
    /// once, whatever the store does; the campaign goes on standing.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use tenure::{CampaignEvent, Coordinator};
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let elector = coordinator.elector("billing")?;
    /// let mut campaign = elector.campaign()?;
    /// while let Some(event) = campaign.next().await {
    ///     if let CampaignEvent::Elected(leadership) = event {
    ///         assert!(elector.is_leading());
    ///         leadership.resign().await?; // now another can lead
    ///         break;
    ///     }
    /// }
    /// # coordinator.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Lost`](ErrorKind::Lost) when the office had been lost before: what was
    /// done last may have been done by two.
    /// [`Unconfirmed`](ErrorKind::Unconfirmed) when the lease ran out before
    /// the store answered.
    ///
    /// # Cancel safety
    /// Dropped, the office is given back in the background.
    pub async fn resign(self) -> Result<()> {
        let tenure = self.tenure.clone();
        let lost = tenure.token().err();
        drop(self);
        if let Some(lost) = lost {
            return Err(lost.into());
        }
        match tenure.given_back().await {
            GivenBack::Confirmed => Ok(()),
            GivenBack::Lost(cause) => Err(tenure.lost_by(cause).into()),
            GivenBack::Unconfirmed => Err(Error::new(ErrorKind::Unconfirmed, Outcome::MayHave)
                .with_message("the lease ran out before the store confirmed the resignation")
                .with_mutex(tenure.mutex())),
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.tenure.end(LossCause::Released);
        self.quiescer.quiesced();
    }
}

/// A stream of [`CampaignEvent`]s; it ends when the coordinator is closed.
///
/// It must be read: an election that is not read before its first renewal
/// is due is given back, and the candidate rests until its reader reads again.
///
/// Dropped, the candidate stands no more, and an office it holds is resigned
/// as soon as its [`Leadership`] has been dropped too.
#[must_use = "a campaign stands only while it lives"]
pub struct Campaign {
    contention: Option<Contention>,
    contender: ContenderId,
    offices: Offices,
    events: mpsc::UnboundedReceiver<CampaignEvent>,
}

impl Campaign {
    pub(super) fn start(
        engine: &Engine,
        name: MutexName,
        id: ContenderId,
        unique_id: bool,
        offices: Offices,
    ) -> Self {
        let (tell, events) = mpsc::unbounded_channel();
        let mut settings =
            engine.contention_settings(Purpose::Leader, name, id.clone(), Mode::Always);
        settings.unique_id = unique_id;
        let mut teller = Teller {
            tell,
            id: id.clone(),
            state: MutexState::NONE,
            tenure: None,
        };
        let sink = Box::new(move |notice| teller.hear(notice));
        // An office that is held when the campaign is dropped is its holder's
        // for as long as it likes.
        let contention = Some(engine.contend(settings, true, sink).sparing_the_tenure());
        offices.campaign_begins();
        Self {
            contention,
            contender: id,
            offices,
            events,
        }
    }

    /// The id it stands under.
    #[must_use]
    pub fn contender(&self) -> &ContenderId {
        &self.contender
    }

    /// The next event; `None` after the coordinator has been closed.
    ///
    /// # Cancel safety
    /// Dropping it loses no event.
    pub async fn next(&mut self) -> Option<CampaignEvent> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<CampaignEvent>> {
        loop {
            return match self.events.poll_recv(cx) {
                // Won while the campaign was not read, and given back since.
                Poll::Ready(Some(CampaignEvent::Elected(office))) if !office.is_taken_up() => {
                    continue;
                }
                Poll::Ready(Some(CampaignEvent::Elected(office))) => {
                    self.offices.add(office.tenure());
                    Poll::Ready(Some(CampaignEvent::Elected(office)))
                }
                event => event,
            };
        }
    }

    /// Returns when the office that is held must be given up.
    pub(super) async fn deposed(&mut self) {
        loop {
            match self.events.recv().await {
                Some(CampaignEvent::Deposed(_)) | None => return,
                Some(CampaignEvent::Trouble(error)) => super::elector::tell_trouble(&error),
                Some(CampaignEvent::Elected(_) | CampaignEvent::Observed(_)) => {}
            }
        }
    }

    /// Stops standing and waits until the store has been told.
    pub(crate) async fn end(mut self) {
        drop(self.contention.take());
        while self.events.recv().await.is_some() {}
    }
}

impl Drop for Campaign {
    fn drop(&mut self) {
        self.offices.campaign_ends();
    }
}

impl Stream for Campaign {
    type Item = CampaignEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<CampaignEvent>> {
        self.poll_event(cx)
    }
}

impl fmt::Debug for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaign")
            .field("contender", &self.contender)
            .finish_non_exhaustive()
    }
}

/// Turns the engine's notices into events.
struct Teller {
    tell: mpsc::UnboundedSender<CampaignEvent>,
    id: ContenderId,
    state: MutexState,
    tenure: Option<Tenure>,
}

impl Teller {
    fn hear(&mut self, notice: Notice) {
        match notice {
            Notice::Began(tenure, owner, quiescer) => {
                if self.tenure.replace(tenure.clone()).is_some() {
                    // Resigned, and elected again before another was seen.
                    self.observe(MutexOwner::NONE);
                }
                self.observe(owner);
                self.say(CampaignEvent::Elected(Leadership { tenure, quiescer }));
            }
            Notice::Quiesce(cause, _) => {
                if let Some(tenure) = self.tenure.take() {
                    // The machine knows that it is over, the tenure why.
                    let cause = match tenure.token() {
                        Err(lost) if lost.cause == LossCause::ClockJump => lost.cause,
                        _ => cause,
                    };
                    self.say(CampaignEvent::Deposed(tenure.lost_by(cause)));
                }
                self.observe(MutexOwner::NONE);
            }
            // An owner under our id that is not our tenure: a twin.
            Notice::Observed(owner) if owner.is_owner(&self.id) => {}
            Notice::Observed(owner) => {
                // After a resignation the engine did not ask for an end.
                self.tenure = None;
                self.observe(owner);
            }
            Notice::Trouble(error) => self.say(CampaignEvent::Trouble(error)),
            Notice::Finished(_) => {}
        }
    }

    fn observe(&mut self, owner: MutexOwner) {
        let state = self.state.followed_by(owner);
        if state.is_changed() {
            self.state = state.clone();
            self.say(CampaignEvent::Observed(state));
        } else {
            self.state.after = state.after;
        }
    }

    fn say(&self, event: CampaignEvent) {
        // A campaign that was dropped does not listen: what it is told is
        // dropped with it, a leadership too.
        let _ = self.tell.send(event);
    }
}
