//! PostgreSQL.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::error::ServerError;
use super::extras::Extras;
use super::find::Server;
use super::port::Port;
use super::process::{Process, Recipe};
use super::{home, template};

/// A PostgreSQL server on 127.0.0.1; its life is that of a [`Process`]. Commits survive
/// [`Process::restart`], apart from those made with `synchronous_commit = off`, as a release may
/// be. Everyone is trusted, so there is no password.
#[derive(Debug)]
pub struct Postgres {
    process: Process,
    port: Port,
}

impl Postgres {
    /// The user, who may do everything.
    pub const USER: &str = "postgres";
    /// An empty database.
    pub const DATABASE: &str = "postgres";

    /// Starts a server.
    pub fn start() -> Result<Postgres, ServerError> {
        Postgres::builder().start()
    }

    /// A server with options.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The address of the database: `postgres://postgres@127.0.0.1:PORT/postgres`.
    pub fn url(&self) -> String {
        format!(
            "postgres://{}@{}/{}",
            Self::USER,
            self.address(),
            Self::DATABASE
        )
    }

    /// Asks whether the server lets a new connection in within this time.
    pub fn admits_within(&self, limit: Duration) -> io::Result<()> {
        admits(self.address(), limit)
    }

    /// Runs statements through the command-line client and gives the rows, fields separated by
    /// `|`. For checks in tests.
    pub fn sql(&self, statements: &str) -> Result<String, ServerError> {
        let mut client = home::command(Server::Postgres.find("psql")?, self.directory());
        client.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        client.args([
            "--set=ON_ERROR_STOP=1",
            "--command",
            statements,
            &self.url(),
        ]);
        Ok(home::run(client)?.trim_end().to_owned())
    }
}

impl Deref for Postgres {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

/// What a [`Postgres`] shall be like. In arguments `{dir}` stands for the server's directory.
#[derive(Clone, Debug, Default)]
pub struct PostgresBuilder {
    extras: Extras,
    primary: Option<SocketAddr>,
}

impl PostgresBuilder {
    /// Adds a setting, for example `.set("max_connections", "5")`.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.extras
            .arguments
            .extend(["-c".to_owned(), format!("{key}={value}")]);
        self
    }

    /// Sets an environment variable, for example to preload libfaketime.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.extras
            .variables
            .push((key.to_owned(), value.to_owned()));
        self
    }

    /// Gives it a wall clock that can be set: [`Process::set_clock`].
    pub fn own_clock(mut self) -> Result<Self, ServerError> {
        self.extras.plain_clock()?;
        Ok(self)
    }

    /// Gives it a disk that can be filled: [`Process::fill_disk`].
    pub fn own_disk(mut self) -> Result<Self, ServerError> {
        self.extras.own_disk()?;
        Ok(self)
    }

    /// Puts a file into the server's directory: a certificate, a key.
    pub fn file(mut self, name: &str, contents: impl Into<Vec<u8>>) -> Self {
        self.extras.files.push((name.to_owned(), contents.into()));
        self
    }

    /// Follows another server: a copy of it that only reads, until `pg_promote()`.
    pub fn standby_of(mut self, primary: &Postgres) -> Self {
        self.primary = Some(primary.address());
        self
    }

    /// Starts it and waits until it lets clients in.
    pub fn start(self) -> Result<Postgres, ServerError> {
        Port::start(|port| {
            let recipe = Node {
                address: port.address(),
                extras: self.extras.clone(),
                primary: self.primary,
            };
            Ok(Postgres {
                process: Process::launch("postgres", Box::new(recipe))?,
                port,
            })
        })
    }
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    extras: Extras,
    primary: Option<SocketAddr>,
}

impl Recipe for Node {
    fn fill(&self, data: &Path) -> Result<(), ServerError> {
        if let Some(primary) = self.primary {
            return copy_of(primary, data);
        }
        let mut version = home::command(Server::Postgres.find("postgres")?, data);
        version.arg("--version");
        template::copy(home::run(version)?.trim(), data, |empty| {
            let mut initdb = home::command(Server::Postgres.find("initdb")?, empty);
            initdb
                .arg("-D")
                .arg(empty)
                .args(["-U", Postgres::USER, "-A", "trust"]);
            initdb.args(["-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"]);
            home::run(initdb).map(drop)
        })
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        self.extras.write(directory)?;
        // Left by kill -9. Its process is gone, since we waited for it, but the server could
        // take a stranger with the same process id for it and refuse to start.
        let _ = fs::remove_file(directory.join("data/postmaster.pid"));
        let mut command = Command::new(Server::Postgres.find("postgres")?);
        command.arg("-D").arg(directory.join("data"));
        command.args([
            "-p",
            &self.address.port().to_string(),
            "-c",
            "listen_addresses=127.0.0.1",
        ]);
        command
            .arg("-c")
            .arg(format!("unix_socket_directories={}", directory.display()));
        // Written at each commit that waits, so kill -9 loses none of those; only the machine
        // itself could.
        command.args(["-c", "fsync=off", "-c", "shared_buffers=16MB"]);
        self.extras.apply(&mut command, directory);
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        admits(self.address, Duration::from_secs(2))
    }

    // SIGTERM would wait until all clients have gone.
    fn stop_signal(&self) -> Signal {
        Signal::INT
    }
}

/// A copy of a server that runs, told to follow it.
fn copy_of(primary: SocketAddr, data: &Path) -> Result<(), ServerError> {
    let mut copy = home::command(Server::Postgres.find("pg_basebackup")?, data);
    copy.arg("--pgdata").arg(data);
    copy.args(["--host=127.0.0.1", "--checkpoint=fast", "--no-sync"]);
    copy.args([
        format!("--port={}", primary.port()),
        format!("--username={}", Postgres::USER),
    ]);
    copy.arg("--write-recovery-conf");
    home::run(copy).map(drop)
}

/// Sends a startup message. A server that still starts answers with an error, 57P03.
pub(super) fn admits(address: SocketAddr, limit: Duration) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    let (user, database) = (Postgres::USER, Postgres::DATABASE);
    let parameters = format!("user\0{user}\0database\0{database}\0\0");
    let length = 8 + parameters.len() as u32;
    let version = 3u32 << 16;
    let message = [
        &length.to_be_bytes()[..],
        &version.to_be_bytes(),
        parameters.as_bytes(),
    ];
    stream.write_all(&message.concat())?;
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    if head[0] == b'R' {
        // Leave politely, or the log fills with complaints.
        return stream.write_all(b"X\0\0\0\x04");
    }
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    Err(io::Error::other(
        String::from_utf8_lossy(&text).replace('\0', " "),
    ))
}
