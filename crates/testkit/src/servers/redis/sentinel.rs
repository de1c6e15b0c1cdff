//! A master, a replica, and three sentinels that agree on who is master.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::node::Redis;
use super::resp;
use crate::servers::error::ServerError;
use crate::servers::find::Server;
use crate::servers::port::Port;
use crate::servers::process::{Process, Recipe};
use crate::servers::{home, wait};

/// Two Redis servers watched by three sentinels with a quorum of two. A master that is silent
/// for a second is replaced.
#[derive(Debug)]
pub struct RedisSentinel {
    nodes: [Redis; 2],
    sentinels: Vec<Sentinel>,
}

impl RedisSentinel {
    /// The name by which clients ask for the master.
    pub const MASTER_NAME: &str = "tenure";

    /// Starts everything and waits until each sentinel knows the replica and the others.
    pub fn start() -> Result<RedisSentinel, ServerError> {
        let master = Redis::start()?;
        let replica = Redis::builder().replica_of(&master).start()?;
        let sentinels = (0..3)
            .map(|_| Sentinel::start(&master))
            .collect::<Result<_, _>>()?;
        let all = RedisSentinel {
            nodes: [master, replica],
            sentinels,
        };
        wait::until_true("a replica in step", || {
            let info = all.nodes[1].command(&["INFO", "replication"]);
            info.is_ok_and(|info| info.contains("master_link_status:up"))
        })?;
        for sentinel in &all.sentinels {
            wait::until_true("sentinels that know each other", || {
                sentinel.knows("num-slaves", "1") && sentinel.knows("num-other-sentinels", "2")
            })?;
        }
        Ok(all)
    }

    /// Both servers; the first was master at the start.
    pub fn nodes(&self) -> &[Redis; 2] {
        &self.nodes
    }

    /// The sentinels.
    pub fn sentinels(&self) -> &[Sentinel] {
        &self.sentinels
    }

    /// The port of the master in the eyes of the first sentinel that answers.
    pub fn master_port(&self) -> Option<u16> {
        let question = ["SENTINEL", "get-master-addr-by-name", Self::MASTER_NAME];
        let mut answers = self
            .sentinels
            .iter()
            .filter_map(|s| s.command(&question).ok());
        answers.next()?.lines().nth(1)?.parse().ok()
    }
}

/// One sentinel; its life is that of a [`Process`].
#[derive(Debug)]
pub struct Sentinel {
    process: Process,
    port: Port,
}

impl Sentinel {
    fn start(master: &Redis) -> Result<Sentinel, ServerError> {
        Port::start(|port| {
            let recipe = Watch {
                address: port.address(),
                master: master.port(),
            };
            Ok(Sentinel {
                process: Process::launch("sentinel", Box::new(recipe))?,
                port,
            })
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Asks the sentinel, like [`Redis::command`].
    pub fn command(&self, words: &[&str]) -> io::Result<String> {
        resp::ask(self.address(), None, words, Duration::from_secs(5))
    }

    fn knows(&self, field: &str, value: &str) -> bool {
        let answer = self.command(&["SENTINEL", "master", RedisSentinel::MASTER_NAME]);
        let answer = answer.unwrap_or_default();
        let lines: Vec<&str> = answer.lines().collect();
        lines.chunks(2).any(|pair| pair == [field, value])
    }
}

impl Deref for Sentinel {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

#[derive(Debug)]
struct Watch {
    address: SocketAddr,
    master: u16,
}

impl Recipe for Watch {
    // Sentinels write what they learn into their configuration: it is their data.
    fn fill(&self, data: &Path) -> Result<(), ServerError> {
        let name = RedisSentinel::MASTER_NAME;
        let lines = [
            format!(
                "bind 127.0.0.1\nport {}\ndir {}",
                self.address.port(),
                data.display()
            ),
            format!("sentinel monitor {name} 127.0.0.1 {} 2", self.master),
            format!("sentinel down-after-milliseconds {name} 1000"),
            format!("sentinel failover-timeout {name} 5000"),
            format!("sentinel parallel-syncs {name} 1\n"),
        ];
        let file = data.join("sentinel.conf");
        fs::write(&file, lines.join("\n"))?;
        Ok(home::give(&file, 0o600)?)
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        let mut command = Command::new(Server::Redis.find("redis-server")?);
        command
            .arg(directory.join("data/sentinel.conf"))
            .arg("--sentinel");
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        resp::ask(self.address, None, &["PING"], Duration::from_secs(2)).map(drop)
    }
}
