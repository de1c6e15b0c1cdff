//! [`Ids`]: under which ids the locks of a process stand in the store.

use std::sync::Arc;

use uuid::Uuid;

use crate::error::Result;
use crate::model::{ContenderId, ContenderIdGenerator, chance};

/// Makes the ids of a process's locks, a new one for each bid.
#[derive(Debug)]
pub(crate) enum Ids {
    Made(Arc<dyn ContenderIdGenerator>),
    /// `<client>:<holder>:<number>`, as Bedrock and Redisson begin them. The
    /// layout has no room for a nonce, so the number is one: random for each
    /// bid, by the system, so that a copy of this process has others too.
    Holders {
        client: Uuid,
    },
}

impl Ids {
    pub(crate) fn made_by(generator: &Arc<dyn ContenderIdGenerator>) -> Self {
        Self::Made(Arc::clone(generator))
    }

    /// Ids that name their holder.
    pub(crate) fn holders() -> Self {
        Self::Holders {
            client: chance::uuid(),
        }
    }

    /// Whether every id is another, also among those of other processes.
    pub(super) fn are_unique(&self) -> bool {
        match self {
            Self::Made(generator) => generator.unique_per_call(),
            Self::Holders { .. } => true,
        }
    }

    pub(super) fn next(&self, holder: Option<&str>) -> Result<ContenderId> {
        match self {
            Self::Made(generator) => generator.generate(),
            Self::Holders { client } => {
                let number = chance::bits() >> 64;
                let holder = holder.unwrap_or("lock");
                ContenderId::new(format!("{client}:{holder}:{number}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_process_makes_other_ids() {
        let client = Uuid::new_v4();
        let (parent, child) = (Ids::Holders { client }, Ids::Holders { client });
        for _ in 0..100 {
            let (one, other) = (parent.next(Some("h")), child.next(Some("h")));
            assert_ne!(one.unwrap(), other.unwrap());
        }
    }
}
