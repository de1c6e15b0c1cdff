//! Watches for those who only observe.
//!
//! One observer per observed name. It watches the node of the owner; while
//! there is none, the children of the mutex; while that is not there, its
//! creation. So a busy queue does not wake it, only a change at its head.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use zookeeper_client::{Error as Fault, OneshotWatcher};

use super::asked_watch::Firing;
use super::client::Store;
use super::error;
use super::owner::sorted;
use super::watch_room::TakenRoom;
use crate::error::Result;
use crate::model::MutexName;

/// The pause after a look that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// How long an observer may go on without listeners.
const ROUND: Duration = Duration::from_secs(10);

/// How long after a look the next one is, where there is no room for a watch.
const LOOK: Duration = Duration::from_secs(5);

/// The watch on the head, if there was room for it.
type HeadWatch = Option<(OneshotWatcher, TakenRoom)>;

impl Store {
    pub(super) async fn observe(self: Arc<Self>, name: MutexName) {
        let mut last = None;
        while !self.registry.dismiss(&name) {
            let (head, watch) = match self.glimpse(&name).await {
                Ok(Some(seen)) => seen,
                Ok(None) => continue,
                Err(_) => {
                    self.clock.sleep(AGAIN).await;
                    continue;
                }
            };
            // The first look is told too: it may come after a change.
            let head = Some(head);
            if head != last {
                last = head;
                self.registry.changed(&name);
            }
            let change = async {
                match watch {
                    Some((watcher, _room)) => {
                        let mut firing = Firing::of(watcher);
                        poll_fn(|cx| firing.poll(cx).map(drop)).await;
                    }
                    None => self.clock.sleep(LOOK).await,
                }
            };
            let mut change = std::pin::pin!(change);
            while self
                .clock
                .limit(self.clock.now() + ROUND, change.as_mut())
                .await
                .is_none()
            {
                if self.registry.dismiss(&name) {
                    return;
                }
            }
        }
    }

    /// The node at the head, and a watch that tells when it is no more.
    async fn glimpse(&self, name: &MutexName) -> Result<Option<(Option<String>, HeadWatch)>> {
        let session = self.session()?;
        let dir = self.config.paths.mutex(name);
        let client = session.client();
        let children = sorted(client.list_children(&dir).await, error::read)?;
        if let Some(head) = children.into_iter().next() {
            let path = format!("{dir}/{head}");
            let Some(room) = self.watch_room.for_others(&path) else {
                return Ok(Some((Some(head), None)));
            };
            return match client.get_and_watch_data(&path).await {
                Ok((_, _, watcher)) => Ok(Some((Some(head), Some((watcher, room))))),
                Err(Fault::NoNode) => Ok(None),
                Err(error) => Err(error::read(error)),
            };
        }
        let Some(room) = self.watch_room.for_others(&dir) else {
            return Ok(Some((None, None)));
        };
        match client.list_and_watch_children(&dir).await {
            Ok((children, watcher)) if children.is_empty() => {
                Ok(Some((None, Some((watcher, room)))))
            }
            Ok(_) => Ok(None),
            Err(Fault::NoNode) => match client.check_and_watch_stat(&dir).await {
                Ok((None, watcher)) => Ok(Some((None, Some((watcher, room))))),
                Ok(_) => Ok(None),
                Err(error) => Err(error::read(error)),
            },
            Err(error) => Err(error::read(error)),
        }
    }
}
