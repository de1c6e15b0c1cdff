//! [`Elector`], for plain threads.

use super::background::Background;
use super::tenure::Tenure;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::leader;
use crate::model::{ContenderId, MutexName, MutexState, Owner};

/// Elects one leader among all who stand under the same name, as
/// [`tenure::Elector`](crate::Elector). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Elector {
    inner: leader::Elector,
    background: Background,
}

impl Elector {
    pub(super) fn new(inner: leader::Elector, background: &Background) -> Self {
        let background = background.clone();
        Self { inner, background }
    }

    /// The same elector, whose campaigns all stand under `id`. It must not
    /// stand twice at a time.
    #[must_use]
    pub fn with_id(self, id: ContenderId) -> Self {
        Self {
            inner: self.inner.with_id(id),
            ..self
        }
    }

    /// What is led.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        self.inner.name()
    }

    /// Stands until elected and runs `work` on this thread. If it returns
    /// while still in office, resigns and returns what it returned; if the
    /// office was lost meanwhile, stands again and calls it again.
    ///
    /// Nothing can drop `work` here: it must look at its tenure, and return
    /// when that is [lost](Tenure::is_lost) or to [end](Tenure::is_ending): a
    /// `close` waits for it, and the next leader as well.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) when the coordinator is closed meanwhile.
    pub fn lead<T>(&self, mut work: impl FnMut(&Tenure) -> T) -> Result<T> {
        let mut campaign = self.campaign()?;
        while let Some(event) = campaign.next_event() {
            match event {
                CampaignEvent::Elected(leadership) => {
                    let output = work(leadership.tenure());
                    if leadership.tenure().is_lost() {
                        continue;
                    }
                    drop(leadership);
                    campaign.end();
                    return Ok(output);
                }
                CampaignEvent::Trouble(error) => {
                    tracing::debug!(target: "tenure::leader", "will try again: {error}");
                }
                CampaignEvent::Deposed(_) | CampaignEvent::Observed(_) => {}
            }
        }
        Err(Error::new(ErrorKind::Closed, Outcome::DidNot)
            .with_message("the coordinator was closed")
            .with_mutex(self.name()))
    }

    /// Who leads, by the store's present word; `None` when the office is free.
    ///
    /// # Errors
    /// As [`tenure::Elector::leader`](crate::Elector::leader).
    pub fn leader(&self) -> Result<Option<Owner>> {
        let elector = self.inner.clone();
        self.background.wait(async move { elector.leader().await })
    }

    /// Whether this elector or one of its clones leads at this very moment.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.inner.is_leading()
    }

    /// The tenure under which this elector or one of its clones leads at this
    /// very moment, by its own clock. No I/O.
    ///
    /// ```
    /// # use tenure::blocking::Coordinator;
    /// # let coordinator = Coordinator::connect("memory:")?;
    /// let elector = coordinator.elector("billing")?;
    /// assert!(elector.tenure().is_none() && !elector.is_standing());
    /// elector.lead(|tenure| {
    ///     let same = elector.tenure().expect("it leads");
    ///     assert_eq!(same.token(), tenure.token());
    /// })?;
    /// # coordinator.close()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn tenure(&self) -> Option<Tenure> {
        let held = self.inner.tenure()?;
        Some(Tenure::new(held, &self.background))
    }

    /// Whether a campaign of this elector or of one of its clones lives: then it
    /// leads, or will when its turn comes. No I/O.
    #[must_use]
    pub fn is_standing(&self) -> bool {
        self.inner.is_standing()
    }

    /// Stands for election for as long as the campaign lives.
    ///
    /// # Errors
    /// As [`tenure::Elector::campaign`](crate::Elector::campaign).
    pub fn campaign(&self) -> Result<Campaign> {
        Ok(Campaign {
            inner: Some(self.inner.campaign()?),
            background: self.background.clone(),
        })
    }

    /// Watches who leads, without standing.
    ///
    /// # Errors
    /// As [`tenure::Elector::observe`](crate::Elector::observe).
    pub fn observe(&self) -> Result<Observer> {
        Ok(Observer {
            inner: Some(self.inner.observe()?),
            background: self.background.clone(),
        })
    }
}

/// What happens in a campaign, as
/// [`tenure::CampaignEvent`](crate::CampaignEvent).
pub type CampaignEvent = leader::CampaignEvent<Leadership>;

/// An office that has been won, as [`tenure::Leadership`](crate::Leadership).
/// Dropped, it is resigned in the background.
#[must_use = "dropping a leadership resigns it"]
#[derive(Debug)]
pub struct Leadership {
    inner: leader::Leadership,
    tenure: Tenure,
    background: Background,
}

impl Leadership {
    fn new(inner: leader::Leadership, background: &Background) -> Self {
        Self {
            tenure: Tenure::new(inner.tenure().clone(), background),
            inner,
            background: background.clone(),
        }
    }

    /// The period of office.
    #[must_use]
    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    /// Gives the office back and waits for the store's word.
    ///
    /// # Errors
    /// As [`tenure::Leadership::resign`](crate::Leadership::resign).
    pub fn resign(self) -> Result<()> {
        let leadership = self.inner;
        let resigning = async move { leadership.resign().await };
        self.background.wait(resigning)
    }
}

/// The events of a campaign, as an iterator that waits; it ends when the
/// coordinator is closed.
///
/// Dropped, the candidate stands no more, and an office it holds is resigned
/// as soon as its [`Leadership`] has been dropped too.
#[must_use = "a campaign stands only while it lives"]
#[derive(Debug)]
pub struct Campaign {
    inner: Option<leader::Campaign>,
    background: Background,
}

impl Campaign {
    fn next_event(&mut self) -> Option<CampaignEvent> {
        let event = self.background.next(&mut self.inner)?;
        Some(match event {
            leader::CampaignEvent::Elected(office) => {
                CampaignEvent::Elected(Leadership::new(office, &self.background))
            }
            leader::CampaignEvent::Deposed(lost) => CampaignEvent::Deposed(lost),
            leader::CampaignEvent::Observed(state) => CampaignEvent::Observed(state),
            leader::CampaignEvent::Trouble(error) => CampaignEvent::Trouble(error),
        })
    }

    /// Stops standing and waits until the store has been told.
    fn end(mut self) {
        if let Some(inner) = self.inner.take() {
            let ending = async move {
                inner.end().await;
                Ok(())
            };
            let _ = self.background.wait(ending);
        }
    }
}

impl Iterator for Campaign {
    type Item = CampaignEvent;

    fn next(&mut self) -> Option<CampaignEvent> {
        self.next_event()
    }
}

/// The changes of owner, as an iterator that waits; it ends when the
/// coordinator is closed.
#[derive(Debug)]
pub struct Observer {
    inner: Option<leader::Observer>,
    background: Background,
}

impl Iterator for Observer {
    type Item = MutexState;

    fn next(&mut self) -> Option<MutexState> {
        self.background.next(&mut self.inner)
    }
}
