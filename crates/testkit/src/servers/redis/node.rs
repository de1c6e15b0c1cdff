//! One Redis server.

use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::resp;
use crate::servers::error::ServerError;
use crate::servers::extras::Extras;
use crate::servers::find::Server;
use crate::servers::port::Port;
use crate::servers::process::{Process, Recipe};

/// A Redis server on 127.0.0.1; its life is that of a [`Process`].
#[derive(Debug)]
pub struct Redis {
    process: Process,
    port: Port,
    tls: Option<Port>,
    password: Option<String>,
}

impl Redis {
    /// Starts a server that keeps nothing on disk.
    pub fn start() -> Result<Redis, ServerError> {
        Redis::builder().start()
    }

    /// A server with options.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The port for TLS, if [`RedisBuilder::tls_port`] asked for one.
    pub fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(Port::number)
    }

    /// The Unix socket, if [`RedisBuilder::unix_socket`] asked for one.
    pub fn socket(&self) -> PathBuf {
        self.directory().join("redis.sock")
    }

    /// Asks on a connection of its own and gives the answer as text: nil is `(nil)`, the
    /// elements of an array stand on lines of their own, an error answer is an [`io::Error`].
    /// For checks in tests; it is no driver.
    pub fn command(&self, words: &[&str]) -> io::Result<String> {
        self.command_within(words, Duration::from_secs(10))
    }

    /// [`command`](Redis::command) with a limit on each wait.
    pub fn command_within(&self, words: &[&str], limit: Duration) -> io::Result<String> {
        resp::ask(self.address(), self.password.as_deref(), words, limit)
    }
}

impl Deref for Redis {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

/// What a [`Redis`] shall be like. In arguments `{dir}` stands for the server's directory.
#[derive(Clone, Debug, Default)]
pub struct RedisBuilder {
    pub(super) extras: Extras,
    pub(super) password: Option<String>,
    pub(super) tls: bool,
}

impl RedisBuilder {
    /// Adds a setting, for example `.set("maxmemory", "1mb")`.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.extras
            .arguments
            .extend([format!("--{key}"), value.to_owned()]);
        self
    }

    /// Sets an environment variable, for example to preload libfaketime.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.extras
            .variables
            .push((key.to_owned(), value.to_owned()));
        self
    }

    /// Puts a file into the server's directory: an ACL file, a certificate, a key.
    pub fn file(mut self, name: &str, contents: impl Into<Vec<u8>>) -> Self {
        self.extras.files.push((name.to_owned(), contents.into()));
        self
    }

    /// Asks clients for this password.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.set("requirepass", password)
    }

    /// Writes each change to disk before answering, so that [`Process::restart`] loses nothing.
    pub fn durable(self) -> Self {
        self.set("appendonly", "yes").set("appendfsync", "always")
    }

    /// Listens on a Unix socket too.
    pub fn unix_socket(self) -> Self {
        self.set("unixsocket", "{dir}/redis.sock")
            .set("unixsocketperm", "777")
    }

    /// Listens with TLS on a second port; certificates come by [`file`](Self::file) and
    /// [`set`](Self::set).
    pub fn tls_port(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Gives it a wall clock that can be set, by libfaketime: [`Process::set_clock`].
    pub fn own_clock(mut self) -> Result<Self, ServerError> {
        self.extras.own_clock()?;
        Ok(self)
    }

    /// Gives it a disk that can be filled: [`Process::fill_disk`].
    pub fn own_disk(mut self) -> Result<Self, ServerError> {
        self.extras.own_disk()?;
        Ok(self)
    }

    /// Follows another server, at its TLS port if both have one.
    pub fn replica_of(self, master: &Redis) -> Self {
        let by_tls = master.tls_port().filter(|_| self.tls);
        let port = by_tls.unwrap_or(master.port());
        self.set("replicaof", &format!("127.0.0.1 {port}"))
    }

    /// Starts it and waits until it answers.
    pub fn start(self) -> Result<Redis, ServerError> {
        Port::start(|port| {
            let tls = self.tls.then(Port::choose).transpose()?;
            let mut extras = self.extras.clone();
            if let Some(tls) = &tls {
                extras
                    .arguments
                    .extend(["--tls-port".to_owned(), tls.number().to_string()]);
            }
            let password = self.password.clone();
            let recipe = Node {
                address: port.address(),
                password: password.clone(),
                extras,
            };
            let process = Process::launch("redis", Box::new(recipe))?;
            Ok(Redis {
                process,
                port,
                tls,
                password,
            })
        })
    }
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    password: Option<String>,
    extras: Extras,
}

impl Recipe for Node {
    fn fill(&self, _data: &Path) -> Result<(), ServerError> {
        Ok(())
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        self.extras.write(directory)?;
        let mut command = Command::new(Server::Redis.find("redis-server")?);
        command.args([
            "--bind",
            "127.0.0.1",
            "--port",
            &self.address.port().to_string(),
        ]);
        command.arg("--dir").arg(directory.join("data"));
        command.args(["--save", "", "--repl-diskless-sync-delay", "0"]);
        self.extras.apply(&mut command, directory);
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        let limit = Duration::from_secs(2);
        match resp::ask(self.address, self.password.as_deref(), &["PING"], limit) {
            // It serves, only not strangers: the test brought its own ACL file.
            Err(error) if error.to_string().starts_with("NOAUTH") => Ok(()),
            other => other.map(drop),
        }
    }
}
