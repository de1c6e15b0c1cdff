//! Setting up: the nodes that everything lies below.
//!
//! They need not be: they are made at the first use. It is for those who let a
//! service use nodes and not make them, or who want them to stay.

use std::fmt::Write as _;

use zookeeper_client::CreateMode;

use super::client::ZooKeeper;
use super::config::Config;
use super::error;
use crate::backend::Backend as _;
use crate::clock::Clock;
use crate::error::Result;
use crate::stores::StoreOptions;

/// The commands of ZooKeeper's shell, `zkCli.sh`, that make the nodes which
/// `options` name. In place of a password stands `PASSWORD`.
///
/// ```
/// let url = "zookeeper://zk1,zk2/orders".parse()?;
/// let commands = tenure::stores::zookeeper::commands(&url)?;
/// assert!(commands.contains("create /orders/simba"));
/// # Ok::<(), tenure::Error>(())
/// ```
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) when the options are not valid.
pub fn commands(options: &StoreOptions) -> Result<String> {
    let url = options.url()?;
    let config = Config::from_url(url)?;
    let mut text = format!("# zkCli.sh -server {}\n", config.hosts);
    if let Some(user) = url.user() {
        let _ = writeln!(text, "addauth digest {user}:PASSWORD");
    }
    let acl = match config.creator_only {
        true => "auth::cdrwa",
        false => "world:anyone:cdrwa",
    };
    for path in nodes(&config) {
        let _ = writeln!(text, "create {path} \"\" {acl}");
    }
    Ok(text)
}

/// Makes the nodes that are missing, and leaves those that are there.
pub(crate) async fn prepare(options: &StoreOptions, clock: Clock) -> Result<()> {
    let zookeeper = super::open(options, clock).await?;
    let made = zookeeper.make_nodes().await;
    zookeeper.close().await?;
    made
}

impl ZooKeeper {
    async fn make_nodes(&self) -> Result<()> {
        let store = &self.store;
        let session = store.session()?;
        let client = session.client();
        // They stay: containers would go when they are empty.
        let options = store.creation(CreateMode::Persistent);
        for path in [store.config.paths.latches(), store.config.paths.schedules()] {
            client.mkdir(path, &options).await.map_err(error::write)?;
        }
        Ok(())
    }
}

/// Every node from the top down, each once.
fn nodes(config: &Config) -> Vec<&str> {
    let mut nodes = Vec::new();
    for path in [config.paths.latches(), config.paths.schedules()] {
        let ends = path.match_indices('/').skip(1).map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            if !nodes.contains(&&path[..end]) {
                nodes.push(&path[..end]);
            }
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_make_each_node_once_from_the_top_down() {
        let url = "zookeeper://u:s3cret@a,b:9/x/y?root=/r".parse().unwrap();
        assert_eq!(
            commands(&url).unwrap(),
            "# zkCli.sh -server a:2181,b:9\n\
             addauth digest u:PASSWORD\n\
             create /x \"\" auth::cdrwa\n\
             create /x/y \"\" auth::cdrwa\n\
             create /x/y/r \"\" auth::cdrwa\n\
             create /x/y/tenure \"\" auth::cdrwa\n\
             create /x/y/tenure/schedule \"\" auth::cdrwa\n"
        );
    }

    #[test]
    fn without_a_user_anybody_may_use_them() {
        let url = "zookeeper://a".parse().unwrap();
        let commands = commands(&url).unwrap();
        assert!(commands.contains("create /simba \"\" world:anyone:cdrwa\n"));
        assert!(!commands.contains("addauth"));
    }
}
