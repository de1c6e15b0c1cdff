//! Freeing by force, and mending what stands in the way of all.

use futures_util::future::join_all;
use zookeeper_client::Error as Fault;

use super::client::Store;
use super::error;
use super::owner::{fault_of, sorted, token as token_of};
use super::session::Session;
use crate::backend::Answer;
use crate::error::Result;
use crate::model::{FencingToken, MutexName, MutexOwner};

impl Store {
    pub(super) async fn revoke(
        &self,
        name: &MutexName,
        token: Option<FencingToken>,
    ) -> Result<Answer> {
        let session = self.session()?;
        let dir = self.config.paths.mutex(name);
        let children = self.synced(&session, &dir).await?;
        let freed = match token {
            Some(token) => self.free_token(&session, &dir, &children, token).await?,
            None => self.free_first(&session, &dir, &children).await?,
        };
        if freed {
            return Ok(Answer::won(MutexOwner::NONE, self.now()));
        }
        self.refusal(&session, name).await
    }

    /// Deletes the first node if it is the grant of `token`.
    async fn free_token(
        &self,
        session: &Session,
        dir: &str,
        children: &[String],
        token: FencingToken,
    ) -> Result<bool> {
        let Some(first) = children.first() else {
            return Ok(false);
        };
        let path = format!("{dir}/{first}");
        match session.client().check_stat(&path).await {
            Ok(Some(stat)) if token_of(&stat).is_ok_and(|own| own.store() == token.store()) => {
                self.delete(session, &path).await
            }
            Ok(_) => Ok(false),
            Err(error) => Err(error::read(error)),
        }
    }

    /// Deletes the first node, and everything among the contenders that would
    /// never go by itself.
    async fn free_first(&self, session: &Session, dir: &str, children: &[String]) -> Result<bool> {
        let mut freed = false;
        let paths: Vec<_> = children.iter().map(|c| format!("{dir}/{c}")).collect();
        let client = session.client();
        let read = join_all(paths.iter().map(|path| client.get_data(path))).await;
        for (place, ((child, path), read)) in children.iter().zip(paths).zip(read).enumerate() {
            let is_damaged = match &read {
                Ok((data, stat)) => fault_of(child, data, stat).is_some(),
                Err(Fault::NoNode) => continue,
                // It goes if it may be deleted.
                Err(Fault::NoAuth) => true,
                Err(error) => return Err(error::read(error.clone())),
            };
            if is_damaged {
                freed |= self.delete_tree(session, &path).await?;
            } else if place == 0 {
                freed |= self.delete(session, &path).await?;
            }
        }
        Ok(freed)
    }

    /// Deletes the node at `path` and all below it.
    async fn delete_tree(&self, session: &Session, path: &str) -> Result<bool> {
        let mut found = vec![path.to_owned()];
        let mut at = 0;
        while at < found.len() {
            let listed = session.client().list_children(&found[at]).await;
            let below = match listed {
                Err(Fault::NoAuth) => Vec::new(),
                listed => sorted(listed, error::read)?,
            };
            let below = below.iter().map(|child| format!("{}/{child}", found[at]));
            let below: Vec<String> = below.collect();
            found.extend(below);
            at += 1;
        }
        let mut deleted = false;
        for path in found.iter().rev() {
            deleted = self.delete(session, path).await?;
        }
        Ok(deleted)
    }
}
