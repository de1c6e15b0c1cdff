//! [`LocalContender`]: a contender made of a name and closures.

use std::fmt;
use std::sync::LazyLock;

use super::Contender;
use crate::error::Result;
use crate::model::{ContenderId, ContenderIdGenerator, Host, MutexName, MutexState};

type Callback = Box<dyn Fn(&MutexState) + Send + Sync>;

/// A ready-made contender: validates its name, makes its own id, logs every
/// transition, and calls the closures it is given.
///
/// ```
/// use tenure::service::{Contender, LocalContender};
///
/// let contender = LocalContender::new("report")?
///     .on_acquired(|state| println!("we lead: {:?}", state.after))
///     .on_released(|_| println!("we lead no more"));
/// assert_eq!(contender.mutex().as_str(), "report");
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct LocalContender {
    mutex: MutexName,
    contender_id: ContenderId,
    acquired: Option<Callback>,
    released: Option<Callback>,
}

impl LocalContender {
    /// A contender for `mutex` with an id made by [`Host`].
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the name is not valid.
    pub fn new(mutex: impl AsRef<str>) -> Result<Self> {
        static IDS: LazyLock<Host> = LazyLock::new(Host::new);
        Ok(Self {
            mutex: MutexName::new(mutex)?,
            contender_id: IDS.generate()?,
            acquired: None,
            released: None,
        })
    }

    /// The same contender under another id.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the id is not valid.
    pub fn with_id(self, id: impl AsRef<str>) -> Result<Self> {
        Ok(Self {
            contender_id: ContenderId::new(id)?,
            ..self
        })
    }

    /// Calls `callback` when it begins to own.
    #[must_use]
    pub fn on_acquired(self, callback: impl Fn(&MutexState) + Send + Sync + 'static) -> Self {
        Self {
            acquired: Some(Box::new(callback)),
            ..self
        }
    }

    /// Calls `callback` when it ceases to own.
    #[must_use]
    pub fn on_released(self, callback: impl Fn(&MutexState) + Send + Sync + 'static) -> Self {
        Self {
            released: Some(Box::new(callback)),
            ..self
        }
    }
}

impl Contender for LocalContender {
    fn mutex(&self) -> &MutexName {
        &self.mutex
    }

    fn contender_id(&self) -> &ContenderId {
        &self.contender_id
    }

    fn on_acquired(&self, state: &MutexState) {
        let token = state.after.token().map(tracing::field::display);
        tracing::info!(target: "tenure::service", mutex = %self.mutex, contender = %self.contender_id, token, "acquired");
        if let Some(callback) = &self.acquired {
            callback(state);
        }
    }

    fn on_released(&self, state: &MutexState) {
        let token = state.before.token().map(tracing::field::display);
        tracing::info!(target: "tenure::service", mutex = %self.mutex, contender = %self.contender_id, token, "released");
        if let Some(callback) = &self.released {
            callback(state);
        }
    }
}

impl fmt::Debug for LocalContender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalContender")
            .field("mutex", &self.mutex)
            .field("contender_id", &self.contender_id)
            .finish_non_exhaustive()
    }
}
