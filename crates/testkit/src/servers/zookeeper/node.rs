//! One ZooKeeper server, alone or as a member.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::builder::ZooKeeperBuilder;
use crate::servers::error::ServerError;
use crate::servers::extras::Extras;
use crate::servers::find::Server;
use crate::servers::home;
use crate::servers::port::Port;
use crate::servers::process::{Process, Recipe};

/// The jars of Debian's packages, which lie among hundreds of others.
const JARS: [&str; 10] = [
    "zookeeper.jar",
    "zookeeper-jute.jar",
    "slf4j-api.jar",
    "slf4j-simple.jar",
    "netty-all.jar",
    "netty-codec.jar",
    "netty-handler.jar",
    "metrics-core.jar",
    "snappy-java.jar",
    "commons-cli.jar",
];

/// A ZooKeeper server on 127.0.0.1; its life is that of a [`Process`]. What it acknowledged
/// survives [`Process::restart`]. A tick is 500 ms, so sessions last 1 to 10 s.
#[derive(Debug)]
pub struct ZooKeeper {
    process: Process,
    port: Port,
    tls: Option<Port>,
}

impl ZooKeeper {
    /// Starts a server that is alone.
    pub fn start() -> Result<ZooKeeper, ServerError> {
        ZooKeeper::builder().start()
    }

    /// A server with options.
    pub fn builder() -> ZooKeeperBuilder {
        ZooKeeperBuilder::default()
    }

    /// Starts a server that is alone, with these lines and perhaps a port for TLS.
    pub(super) fn alone(
        port: Port,
        tls: Option<Port>,
        extras: Extras,
    ) -> Result<ZooKeeper, ServerError> {
        let recipe = Node {
            address: port.address(),
            member: None,
            extras,
        };
        Ok(ZooKeeper {
            process: Process::launch("zookeeper", Box::new(recipe))?,
            port,
            tls,
        })
    }

    /// Prepares member `id`; the lines list all members.
    pub(super) fn member(
        id: usize,
        lines: String,
        extras: Extras,
    ) -> Result<ZooKeeper, ServerError> {
        let port = Port::choose()?;
        let recipe = Node {
            address: port.address(),
            member: Some((id, lines)),
            extras,
        };
        Ok(ZooKeeper {
            process: Process::prepare("zookeeper", Box::new(recipe))?,
            port,
            tls: None,
        })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The port clients connect to.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The port for TLS, if [`ZooKeeperBuilder::tls`] asked for one.
    pub fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(Port::number)
    }

    /// Sends one of the four-letter words, such as `srvr` or `mntr`.
    pub fn word(&self, word: &str) -> io::Result<String> {
        self.word_within(word, Duration::from_secs(10))
    }

    /// [`word`](ZooKeeper::word) with a limit on each wait.
    pub fn word_within(&self, word: &str, limit: Duration) -> io::Result<String> {
        ask(self.address(), word, limit)
    }

    /// `standalone`, `leader` or `follower`; an error while it does not serve.
    pub fn mode(&self) -> io::Result<String> {
        mode(&self.word("srvr")?)
    }

    /// Runs one command of ZooKeeper's own shell, such as `["create", "/a"]`. It takes a
    /// second, since it starts a Java machine. For checks in tests.
    pub fn shell(&self, words: &[&str]) -> Result<String, ServerError> {
        let mut shell = java(self.directory())?;
        shell.args(["org.apache.zookeeper.ZooKeeperMain", "-server"]);
        shell.arg(self.address().to_string()).args(words);
        home::run(shell)
    }
}

impl Deref for ZooKeeper {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    member: Option<(usize, String)>,
    /// Its arguments are lines of the configuration.
    extras: Extras,
}

impl Recipe for Node {
    // The server rewrites the configuration of a member: it belongs to the data.
    fn fill(&self, data: &Path) -> Result<(), ServerError> {
        let put = |name: &str, text: &str| {
            let file = data.join(name);
            fs::write(&file, text).and_then(|()| home::give(&file, 0o600))
        };
        let members = self.member.iter().flat_map(|(_, lines)| lines.lines());
        let members = members.filter(|line| !line.starts_with("-D"));
        let members: String = members.map(|line| format!("{line}\n")).collect();
        if let Some((id, _)) = &self.member {
            put("myid", &id.to_string())?;
        }
        self.extras.write(data)?;
        let (data, port) = (data.display().to_string(), self.address.port());
        let lines = self.extras.arguments.iter();
        let lines: String = lines
            .map(|line| format!("{}\n", line.replace("{dir}", &data)))
            .collect();
        let configuration = format!(
            "dataDir={data}\nclientPort={port}\nclientPortAddress=127.0.0.1\n\
             tickTime=500\ninitLimit=20\nsyncLimit=10\nmaxClientCnxns=0\n\
             admin.enableServer=false\n4lw.commands.whitelist=*\n{lines}{members}"
        );
        Ok(put("zoo.cfg", &configuration)?)
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        let mut command = java(directory)?;
        // What reached the system survives kill -9; only the machine itself could lose it.
        command.args(["-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=512"]);
        let lines = self.member.iter().flat_map(|(_, lines)| lines.lines());
        command.args(lines.filter(|line| line.starts_with("-D")));
        command.arg("org.apache.zookeeper.server.quorum.QuorumPeerMain");
        command.arg(directory.join("data/zoo.cfg"));
        self.extras.set_variables(&mut command, directory);
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        mode(&ask(self.address, "srvr", Duration::from_secs(2))?).map(drop)
    }
}

/// A Java machine that starts quickly, stays small and leaves nothing in `/tmp`.
fn java(directory: &Path) -> Result<Command, ServerError> {
    let jar = Server::ZooKeeper.find("zookeeper.jar")?;
    let jars = jar.parent().map(Path::to_path_buf).unwrap_or_default();
    let paths: Vec<PathBuf> = match jar.ends_with("zookeeper.jar") {
        true => JARS.iter().map(|name| jars.join(name)).collect(),
        false => vec![jars.join("*")],
    };
    let paths = std::env::join_paths(paths).map_err(|e| ServerError::new(e.to_string()))?;
    let mut command = home::command(Server::ZooKeeper.find("java")?, directory);
    command.args([
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
    ]);
    command
        .arg("-Djava.net.preferIPv4Stack=true")
        .arg("-cp")
        .arg(paths);
    Ok(command)
}

fn ask(address: SocketAddr, word: &str, limit: Duration) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(word.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn mode(answer: &str) -> io::Result<String> {
    let mode = answer.lines().find_map(|line| line.strip_prefix("Mode: "));
    mode.map(str::to_owned)
        .ok_or_else(|| io::Error::other(answer.trim().to_owned()))
}
