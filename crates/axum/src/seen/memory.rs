//! [`InMemory`]: the highest tokens of a resource that is this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure::lock::Fence;
use tenure::model::FencingToken;

use super::HighestSeen;
use crate::admitted::Admitted;
use crate::refusal::Refusal;

/// How many resources are remembered unless another number is given.
const ROOM: usize = 10_000;

/// The highest tokens in the memory of this process, for a resource that lives in it.
///
/// Requests for one resource take turns: a turn ends when the last [`Admitted`] of it is dropped,
/// with the handler's answer at the latest unless the handler has kept one. So a write is over
/// before a newer owner is admitted.
///
/// It forgets when the process ends. Where the resource outlives the process, keep the highest
/// token where the resource is.
#[derive(Debug)]
pub struct InMemory {
    places: Mutex<HashMap<String, Arc<ResourceTurn>>>,
    room: usize,
}

/// One resource.
#[derive(Debug, Default)]
struct ResourceTurn {
    fence: Fence,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Default for InMemory {
    fn default() -> Self {
        Self::with_room_for(ROOM)
    }
}

impl InMemory {
    /// With room for so many resources, 10,000 unless said. None is ever forgotten to make room,
    /// since its old owners could write again: requests for one more are refused with 503.
    #[must_use]
    pub fn with_room_for(resources: usize) -> Self {
        Self {
            places: Mutex::default(),
            room: resources,
        }
    }

    fn place(&self, resource: &str) -> Result<Arc<ResourceTurn>, Refusal> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(resource) {
            return Ok(place.clone());
        }
        if places.len() >= self.room {
            return Err(Refusal::NoRoom);
        }
        let place = Arc::<ResourceTurn>::default();
        places.insert(resource.to_owned(), place.clone());
        Ok(place)
    }
}

impl HighestSeen for InMemory {
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<Admitted, Refusal> {
        let place = self.place(resource)?;
        let turn = place.turn.clone().lock_owned().await;
        place.fence.admit(token).map_err(|stale| Refusal::Stale {
            token,
            newest: stale.newest(),
        })?;
        Ok(Admitted::new(resource, token).with_turn(turn))
    }
}
