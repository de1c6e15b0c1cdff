//! [`Ids`]: under which ids the locks of a process stand in the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

use crate::error::Result;
use crate::model::{ContenderId, ContenderIdGenerator};

/// Makes the ids of a process's locks, a new one for each bid.
#[derive(Debug)]
pub(crate) enum Ids {
    Made(Arc<dyn ContenderIdGenerator>),
    /// `<client>:<holder>:<number>`, as Bedrock and Redisson begin them.
    Holders {
        client: Uuid,
        next: AtomicU64,
    },
}

impl Ids {
    pub(crate) fn made_by(generator: &Arc<dyn ContenderIdGenerator>) -> Self {
        Self::Made(Arc::clone(generator))
    }

    /// Ids that name their holder.
    pub(crate) fn holders() -> Self {
        Self::Holders {
            client: Uuid::new_v4(),
            next: AtomicU64::new(1),
        }
    }

    pub(super) fn next(&self, holder: Option<&str>) -> Result<ContenderId> {
        match self {
            Self::Made(generator) => generator.generate(),
            Self::Holders { client, next } => {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let holder = holder.unwrap_or("lock");
                ContenderId::new(format!("{client}:{holder}:{number}"))
            }
        }
    }
}
