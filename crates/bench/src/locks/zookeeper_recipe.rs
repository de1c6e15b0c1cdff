//! The recipe of ZooKeeper's own page, bare: a node in sequence, and a watch on the one before it.

use std::time::Duration;

use zookeeper_client::{Acls, Client, CreateMode, Error};

use super::{Lock, Locks, plain};
use crate::Result;

/// One session.
#[derive(Clone, Debug)]
pub struct ZookeeperRecipe(Client);

/// A directory, and the node of this process in it while it holds or waits.
#[derive(Debug)]
pub struct Directory {
    client: Client,
    path: String,
    node: Option<String>,
}

impl Locks for ZookeeperRecipe {
    type Lock = Directory;

    async fn open(url: &str) -> Result<Self> {
        let hosts = plain(url)
            .strip_prefix("zookeeper://")
            .ok_or("zookeeper://")?;
        let setting = url.split("session_timeout=").nth(1).unwrap_or("10s");
        let seconds: u64 = setting.trim_end_matches('s').parse()?;
        let connector = Client::connector().with_session_timeout(Duration::from_secs(seconds));
        let client = connector.connect(hosts).await?;
        make(&client, "/bare").await?;
        Ok(Self(client))
    }

    fn lock(&self, name: &str) -> Result<Directory> {
        Ok(Directory {
            client: self.0.clone(),
            path: format!("/bare/{name}"),
            node: None,
        })
    }
}

async fn make(client: &Client, path: &str) -> Result<()> {
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    match client.create(path, b"", &options).await {
        Ok(_) | Err(Error::NodeExists) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Directory {
    async fn create(&self) -> Result<String> {
        let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let prefix = format!("{}/n-", self.path);
        let created = match self.client.create(&prefix, b"", &options).await {
            Err(Error::NoNode) => {
                make(&self.client, &self.path).await?;
                self.client.create(&prefix, b"", &options).await
            }
            created => created,
        };
        let (_, sequence) = created?;
        Ok(format!("n-{sequence}"))
    }
}

impl Lock for Directory {
    async fn take(&mut self) -> Result<()> {
        let node = self.create().await?;
        loop {
            let mut children = self.client.list_children(&self.path).await?;
            children.sort_unstable();
            let place = children.iter().position(|child| *child == node);
            let Some(before) = place.ok_or("our node is gone")?.checked_sub(1) else {
                break;
            };
            let before = format!("{}/{}", self.path, children[before]);
            let (stat, watcher) = self.client.check_and_watch_stat(&before).await?;
            if stat.is_some() {
                watcher.changed().await;
            }
        }
        self.node = Some(node);
        Ok(())
    }

    async fn free(&mut self) -> Result<()> {
        let node = self.node.take().ok_or("not taken")?;
        let node = format!("{}/{node}", self.path);
        Ok(self.client.delete(&node, None).await?)
    }
}
