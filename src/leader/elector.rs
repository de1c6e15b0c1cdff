//! [`Elector`]: the way into an election.

use std::fmt;
use std::sync::Arc;

use super::campaign::{Campaign, CampaignEvent};
use super::observer::Observer;
use super::offices::Offices;
use crate::engine::{Engine, Tenure};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{ContenderId, ContenderIdGenerator, MutexName, Owner};

/// Elects one leader among all who stand under the same name.
///
/// Cheap to clone. Each campaign stands under an id of its own.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::Coordinator;
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let elector = coordinator.elector("billing")?;
/// let done = elector
///     .lead(|tenure| async move { format!("led with token {}", tenure.token().unwrap()) })
///     .await?;
/// assert!(done.starts_with("led with token"));
/// # coordinator.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct Elector {
    engine: Engine,
    ids: Arc<dyn ContenderIdGenerator>,
    name: MutexName,
    fixed_id: Option<ContenderId>,
    offices: Offices,
}

impl Elector {
    pub(crate) fn new(engine: Engine, ids: Arc<dyn ContenderIdGenerator>, name: MutexName) -> Self {
        Self {
            engine,
            ids,
            name,
            fixed_id: None,
            offices: Offices::default(),
        }
    }

    /// The same elector, whose campaigns all stand under `id`: a name that
    /// people know this candidate by. It must not stand twice at a time.
    #[must_use]
    pub fn with_id(self, id: ContenderId) -> Self {
        Self {
            fixed_id: Some(id),
            ..self
        }
    }

    /// What is led.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        &self.name
    }

    /// Stands until elected and runs `work`; at a loss drops it, stands again
    /// and calls `work` again with the new tenure. Returns what `work`
    /// returns, after resigning.
    ///
    /// Trouble with the store is logged and retried for ever.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) when the coordinator is closed meanwhile;
    /// `work` has been dropped then, and the office resigned.
    ///
    /// # Cancel safety
    /// Dropped, it drops `work`, then resigns in the background.
    pub async fn lead<T, F, Fut>(&self, mut work: F) -> Result<T>
    where
        F: FnMut(Tenure) -> Fut,
        Fut: Future<Output = T>,
    {
        let mut campaign = self.campaign()?;
        while let Some(event) = campaign.next().await {
            match event {
                CampaignEvent::Elected(leadership) => {
                    // Declared first, dropped last: the work ends before the
                    // office does.
                    let tenure = leadership.tenure().clone();
                    let outcome = tokio::select! {
                        biased;
                        outcome = tenure.protect(work(tenure.clone())) => outcome.ok(),
                        // The coordinator closes: it waits for us to end.
                        () = campaign.deposed() => None,
                    };
                    if let Some(output) = outcome {
                        drop(leadership);
                        campaign.end().await;
                        return Ok(output);
                    }
                }
                CampaignEvent::Trouble(error) => tell_trouble(&error),
                CampaignEvent::Deposed(_) | CampaignEvent::Observed(_) => {}
            }
        }
        Err(Error::new(ErrorKind::Closed, Outcome::DidNot)
            .with_message("the coordinator was closed")
            .with_mutex(&self.name))
    }

    /// Who leads, by the store's present word; `None` when the office is free.
    ///
    /// # Errors
    /// When the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// It only looks: dropping it changes nothing.
    pub async fn leader(&self) -> Result<Option<Owner>> {
        self.engine.check_open()?;
        let answer = self.engine.look(&self.name).await;
        answer
            .map(|answer| answer.present_owner())
            .map_err(|error| error.with_mutex(&self.name))
    }

    /// Whether this elector or one of its clones leads at this very moment, by
    /// its own clock. No I/O.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.offices.held().is_some()
    }

    /// The tenure under which this elector or one of its clones leads at this
    /// very moment, by its own clock. No I/O.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// # let coordinator = tenure::Coordinator::connect("memory:").await?;
    /// let elector = coordinator.elector("billing")?;
    /// assert!(elector.tenure().is_none());
    /// let leading = elector.lead(|_| async { elector.tenure() });
    /// assert!(leading.await?.is_some());
    /// # coordinator.close().await
    /// # }
    /// ```
    #[must_use]
    pub fn tenure(&self) -> Option<Tenure> {
        self.offices.held()
    }

    /// Whether a campaign of this elector or of one of its clones lives: then it
    /// leads, or will when its turn comes. No I/O.
    #[must_use]
    pub fn is_standing(&self) -> bool {
        self.offices.is_any_campaigning()
    }

    /// Stands for election for as long as the campaign lives, and tells
    /// everything that happens.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) after
    /// [`close`](crate::Coordinator::close); what the
    /// [ids](crate::CoordinatorBuilder::ids) fail with.
    pub fn campaign(&self) -> Result<Campaign> {
        self.engine.check_open()?;
        let (id, is_unique) = match &self.fixed_id {
            Some(id) => (id.clone(), false),
            None => (self.ids.generate()?, self.ids.unique_per_call()),
        };
        let (name, offices) = (self.name.clone(), self.offices.clone());
        Ok(Campaign::start(&self.engine, name, id, is_unique, offices))
    }

    /// Watches who leads, without standing.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) after
    /// [`close`](crate::Coordinator::close).
    pub fn observe(&self) -> Result<Observer> {
        self.engine.check_open()?;
        Ok(Observer::new(&self.engine, self.name.clone()))
    }
}

/// Quietly: that the store is in trouble is told once, for all.
pub(super) fn tell_trouble(error: &Error) {
    tracing::debug!(target: "tenure::leader", "will try again: {error}");
}

impl fmt::Debug for Elector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elector")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
