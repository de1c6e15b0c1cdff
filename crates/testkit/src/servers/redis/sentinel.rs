//! A master, a replica, and three sentinels that agree on who is master.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::node::{Redis, RedisBuilder};
use super::resp;
use crate::servers::error::ServerError;
use crate::servers::extras::Extras;
use crate::servers::find::Server;
use crate::servers::port::Port;
use crate::servers::process::{Process, Recipe};
use crate::servers::proxy::{Proxy, Way};
use crate::servers::{home, wait};

/// Two Redis servers watched by three sentinels with a quorum of two. A master that is silent
/// for a second is replaced.
#[derive(Debug)]
pub struct RedisSentinel {
    nodes: [Redis; 2],
    sentinels: Vec<Sentinel>,
    proxies: Vec<Proxy>,
}

/// Where servers that can be cut off from each other connect from.
const SERVERS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// How many sentinels there are.
const SENTINELS: usize = 3;

/// Where a sentinel that can be cut off connects from.
fn source(sentinel: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, 4 + sentinel as u8)
}

/// Holds what those who connect from `sources` say and hear.
fn part(proxy: &Proxy, sources: impl IntoIterator<Item = Ipv4Addr>) {
    for source in sources {
        proxy.part_from(IpAddr::V4(source), Way::ToServer);
        proxy.part_from(IpAddr::V4(source), Way::ToClient);
    }
}

impl RedisSentinel {
    /// The name by which clients ask for the master.
    pub const MASTER_NAME: &str = "tenure";

    /// Starts everything and waits until each sentinel knows the replica and the others.
    pub fn start() -> Result<RedisSentinel, ServerError> {
        RedisSentinel::builder().start()
    }

    /// Servers and sentinels with options.
    pub fn builder() -> RedisSentinelBuilder {
        RedisSentinelBuilder::default()
    }

    /// Both servers; the first was master at the start.
    pub fn nodes(&self) -> &[Redis; 2] {
        &self.nodes
    }

    /// The sentinels.
    pub fn sentinels(&self) -> &[Sentinel] {
        &self.sentinels
    }

    /// Cuts a server off from the other one and from the sentinels; clients still reach it. Only
    /// after [`RedisSentinelBuilder::separable`].
    pub fn isolate(&self, node: usize) {
        let all = (0..SENTINELS).map(source).chain([SERVERS]);
        part(&self.proxies[node], all);
    }

    /// Cuts the first server and the first sentinel off from everybody else; they still reach
    /// each other, and clients all of them. Only after [`RedisSentinelBuilder::separable`].
    pub fn split(&self) {
        let others = || (1..SENTINELS).map(source);
        part(&self.proxies[0], others().chain([SERVERS]));
        part(&self.proxies[1], [source(0), SERVERS]);
        for (at, sentinel) in self.sentinels.iter().enumerate() {
            let Some(proxy) = &sentinel.proxy else {
                continue;
            };
            match at {
                0 => part(proxy, others()),
                _ => part(proxy, [source(0)]),
            }
        }
    }

    /// Keeps clients from a sentinel at the address by which the others know it, as where they
    /// are in a network of their own. Only after
    /// [`RedisSentinelBuilder::separable`].
    pub fn hide(&self, sentinel: usize) {
        if let Some(proxy) = &self.sentinels[sentinel].proxy {
            part(proxy, [Ipv4Addr::LOCALHOST]);
        }
    }

    /// Cuts clients off from a server, one way; sentinels and the other server still reach it. Only
    /// after [`RedisSentinelBuilder::separable`].
    pub fn part_clients(&self, node: usize, way: Way) {
        self.proxies[node].part_from(IpAddr::V4(Ipv4Addr::LOCALHOST), way);
    }

    /// The proxy by which everybody knows a server, after [`RedisSentinelBuilder::separable`].
    pub fn front(&self, node: usize) -> Option<&Proxy> {
        self.proxies.get(node)
    }

    /// The port by which sentinels and clients know a server: its own, or that of its proxy.
    pub fn known_port(&self, node: usize) -> u16 {
        let proxy = self.proxies.get(node).map(Proxy::port);
        proxy.unwrap_or(self.nodes[node].port())
    }

    /// Ends what [`isolate`](RedisSentinel::isolate), [`split`](RedisSentinel::split) and
    /// [`hide`](RedisSentinel::hide) did.
    pub fn heal(&self) -> Result<(), ServerError> {
        let sentinels = self.sentinels.iter().filter_map(|it| it.proxy.as_ref());
        self.proxies
            .iter()
            .chain(sentinels)
            .try_for_each(Proxy::heal)
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

/// What a [`RedisSentinel`] shall be like.
#[derive(Clone, Debug, Default)]
pub struct RedisSentinelBuilder {
    nodes: RedisBuilder,
    sentinels: RedisBuilder,
    separable: bool,
}

impl RedisSentinelBuilder {
    /// Makes both servers like `node`.
    pub fn nodes(mut self, node: RedisBuilder) -> Self {
        self.nodes = node;
        self
    }

    /// Makes the sentinels like `sentinel`. Where both it and the servers listen with TLS, they
    /// speak it with each other, and name the master by its TLS port.
    pub fn sentinels(mut self, sentinel: RedisBuilder) -> Self {
        self.sentinels = sentinel;
        self
    }

    /// Lets the servers be cut off from each other while clients reach all of them: they are
    /// known by the addresses of proxies, and connect from an address of their own.
    pub fn separable(mut self) -> Self {
        self.separable = true;
        self.nodes = self.nodes.set("bind-source-addr", &SERVERS.to_string());
        self
    }

    /// Starts everything and waits until each sentinel knows the replica and the others.
    pub fn start(self) -> Result<RedisSentinel, ServerError> {
        let mut node = self.nodes;
        if node.tls {
            node = node.set("tls-replication", "yes");
        }
        let master = node.clone().start()?;
        let mut proxies = Vec::new();
        let (replica, known) = if self.separable {
            let replica = node.start()?;
            for server in [&master, &replica] {
                proxies.push(known_by_proxy(server)?);
            }
            let known = proxies[0].port();
            replica.command(&["REPLICAOF", "127.0.0.1", &known.to_string()])?;
            (replica, known)
        } else {
            let by_tls = master.tls_port().filter(|_| self.sentinels.tls);
            let known = by_tls.unwrap_or(master.port());
            (node.replica_of(&master).start()?, known)
        };
        let sentinel = |at| {
            let from = self.separable.then(|| source(at));
            Sentinel::start(known, &self.sentinels, from)
        };
        let sentinels = (0..SENTINELS).map(sentinel).collect::<Result<_, _>>()?;
        let all = RedisSentinel {
            nodes: [master, replica],
            sentinels,
            proxies,
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
}

/// A proxy in front of a server, whose address the server gives as its own.
fn known_by_proxy(server: &Redis) -> Result<Proxy, ServerError> {
    let proxy = Proxy::start(server.address())?;
    let port = proxy.port().to_string();
    let words = [
        "CONFIG",
        "SET",
        "replica-announce-ip",
        "127.0.0.1",
        "replica-announce-port",
    ];
    server.command(&[words.as_slice(), &[&port]].concat())?;
    Ok(proxy)
}

/// One sentinel; its life is that of a [`Process`].
#[derive(Debug)]
pub struct Sentinel {
    process: Process,
    port: Port,
    tls: Option<Port>,
    password: Option<String>,
    /// Where the other sentinels know it, if it can be cut off from them.
    proxy: Option<Proxy>,
}

impl Sentinel {
    /// One that connects from an address of its own, if it is to be `separable`.
    fn start(
        master: u16,
        like: &RedisBuilder,
        separable: Option<Ipv4Addr>,
    ) -> Result<Sentinel, ServerError> {
        Port::start(|port| {
            let tls = like.tls.then(Port::choose).transpose()?;
            let mut extras = like.extras.clone();
            let proxy = match separable {
                Some(source) => {
                    let words = ["--bind-source-addr".to_owned(), source.to_string()];
                    extras.arguments.extend(words);
                    Some(Proxy::start(port.address())?)
                }
                None => None,
            };
            if let Some(tls) = &tls {
                let words = ["--tls-port", &tls.number().to_string(), "--tls-replication"];
                extras.arguments.extend(words.map(str::to_owned));
                extras.arguments.push("yes".to_owned());
            }
            let recipe = SentinelRecipe {
                address: port.address(),
                known: proxy.as_ref().map(Proxy::port),
                master,
                password: like.password.clone(),
                extras,
            };
            Ok(Sentinel {
                process: Process::launch("sentinel", Box::new(recipe))?,
                port,
                tls,
                password: like.password.clone(),
                proxy,
            })
        })
    }

    /// The port for TLS, if it has one.
    pub fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(Port::number)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Asks the sentinel, like [`Redis::command`].
    pub fn command(&self, words: &[&str]) -> io::Result<String> {
        let password = self.password.as_deref();
        resp::ask(self.address(), password, words, Duration::from_secs(5))
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
struct SentinelRecipe {
    address: SocketAddr,
    /// The port by which others know it, if it is another.
    known: Option<u16>,
    master: u16,
    password: Option<String>,
    extras: Extras,
}

impl Recipe for SentinelRecipe {
    // Sentinels write what they learn into their configuration: it is their data.
    fn fill(&self, data: &Path) -> Result<(), ServerError> {
        let name = RedisSentinel::MASTER_NAME;
        let lines = [
            format!(
                "bind 127.0.0.1\nport {}\ndir {}",
                self.address.port(),
                data.display()
            ),
            // As the others know it, wherever it connects from.
            "sentinel announce-ip 127.0.0.1".to_owned(),
            match self.known {
                Some(port) => format!("sentinel announce-port {port}"),
                None => String::new(),
            },
            format!("sentinel monitor {name} 127.0.0.1 {} 2", self.master),
            format!("sentinel down-after-milliseconds {name} 1000"),
            format!("sentinel failover-timeout {name} 5000"),
            format!("sentinel parallel-syncs {name} 1"),
            // What they tell each other.
            match &self.password {
                Some(password) => format!("sentinel sentinel-pass {password}\n"),
                None => String::new(),
            },
        ];
        let file = data.join("sentinel.conf");
        fs::write(&file, lines.join("\n"))?;
        Ok(home::give(&file, 0o600)?)
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        self.extras.write(directory)?;
        let mut command = Command::new(Server::Redis.find("redis-server")?);
        command
            .arg(directory.join("data/sentinel.conf"))
            .arg("--sentinel");
        self.extras.apply(&mut command, directory);
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        let password = self.password.as_deref();
        resp::ask(self.address, password, &["PING"], Duration::from_secs(2)).map(drop)
    }
}
