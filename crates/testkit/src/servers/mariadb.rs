//! MariaDB, or Oracle's MySQL in its place.

use std::fs;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::error::ServerError;
use super::extras::Extras;
use super::find::Server;
use super::port::Port;
use super::process::{Process, Recipe};
use super::{galera, home, mysql, template};

/// A small redo log, or every copy of the data directory would be 100 MB.
const SMALL: &str = "--innodb-log-file-size=8M";

/// A MariaDB server on 127.0.0.1; its life is that of a [`Process`]. Commits survive
/// [`Process::restart`]. The user has no password.
///
/// Where `TENURE_MYSQL_BIN` says where Oracle's MySQL is, it is that, so that whatever is tested
/// with one can be tested with the other.
#[derive(Debug)]
pub struct MariaDb {
    process: Process,
    port: Port,
}

impl MariaDb {
    /// The user, who may do everything.
    pub const USER: &str = "root";
    /// An empty database.
    pub const DATABASE: &str = "tenure";

    /// Starts a server.
    pub fn start() -> Result<MariaDb, ServerError> {
        MariaDb::builder().start()
    }

    /// A server with options.
    pub fn builder() -> MariaDbBuilder {
        MariaDbBuilder::default()
    }

    /// Whether it is Oracle's MySQL.
    pub fn is_mysql() -> bool {
        Server::MySql.is_named()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The address of the database: `mysql://root@127.0.0.1:PORT/tenure`.
    pub fn url(&self) -> String {
        format!(
            "mysql://{}@{}/{}",
            Self::USER,
            self.address(),
            Self::DATABASE
        )
    }

    /// Asks whether the server greets a new connection within this time.
    pub fn greets_within(&self, limit: Duration) -> io::Result<()> {
        greets(self.address(), limit)
    }

    /// Runs statements through the command-line client and gives the rows, fields separated by
    /// tabs. For checks in tests.
    pub fn sql(&self, statements: &str) -> Result<String, ServerError> {
        let (program, plain) = match Self::is_mysql() {
            true => (Server::MySql.find("mysql")?, "--ssl-mode=DISABLED"),
            false => (Server::MariaDb.find("mariadb")?, "--skip-ssl"),
        };
        let mut client = home::command(program, self.directory());
        client.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", plain]);
        client.args([
            format!("--port={}", self.port()),
            format!("--user={}", Self::USER),
        ]);
        client.args([
            "--batch",
            "--skip-column-names",
            "--execute",
            statements,
            Self::DATABASE,
        ]);
        Ok(home::run(client)?.trim_end().to_owned())
    }
}

impl Deref for MariaDb {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

/// What a [`MariaDb`] shall be like. In arguments `{dir}` stands for the server's directory.
#[derive(Clone, Debug, Default)]
pub struct MariaDbBuilder {
    extras: Extras,
    origin: Option<PathBuf>,
}

impl MariaDbBuilder {
    /// Adds a setting, for example `.set("max-connections", "5")`.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.extras.arguments.push(format!("--{key}={value}"));
        self
    }

    /// Sets an environment variable, for example to preload libfaketime.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.extras
            .variables
            .push((key.to_owned(), value.to_owned()));
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

    /// Puts a file into the server's directory: a certificate, a key.
    pub fn file(mut self, name: &str, contents: impl Into<Vec<u8>>) -> Self {
        self.extras.files.push((name.to_owned(), contents.into()));
        self
    }

    /// Adds a switch that has no value.
    pub(super) fn switch(mut self, switch: &str) -> Self {
        self.extras.arguments.push(format!("--{switch}"));
        self
    }

    /// Begins with a copy of this data instead of with none.
    pub(super) fn copy_of(mut self, data: PathBuf) -> Self {
        self.origin = Some(data);
        self
    }

    /// Starts it and waits until it greets.
    pub fn start(self) -> Result<MariaDb, ServerError> {
        Port::start(|port| {
            let (address, extras) = (port.address(), self.extras.clone());
            let process = match MariaDb::is_mysql() {
                true => Process::launch("mysql", Box::new(mysql::Node { address, extras })),
                false => {
                    let origin = self.origin.clone();
                    let node = Node {
                        address,
                        extras,
                        origin,
                    };
                    Process::launch("mariadb", Box::new(node))
                }
            };
            Ok(MariaDb {
                process: process?,
                port,
            })
        })
    }
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    extras: Extras,
    origin: Option<PathBuf>,
}

impl Node {
    /// The server with all that it is told, whatever it is to do.
    fn plain(&self, program: &Path, directory: &Path) -> Command {
        let mut command = home::command(program, directory);
        command.args(["--no-defaults", SMALL]).args(base(program));
        command.args(usual(self.address, directory));
        self.extras.apply(&mut command, directory);
        command
    }
}

impl Recipe for Node {
    fn fill(&self, data: &Path) -> Result<(), ServerError> {
        if let Some(origin) = &self.origin {
            return home::copy(origin, data);
        }
        let mut version = home::command(Server::MariaDb.find("mariadbd")?, data);
        version.args(["--no-defaults", "--version"]);
        template::copy(
            &format!("mariadb-{}", release(&home::run(version)?)),
            data,
            |empty| {
                let mut install = home::command(Server::MariaDb.find("mariadb-install-db")?, empty);
                install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
                install.args(["--skip-test-db", "--skip-name-resolve", SMALL]);
                install.args(base(&Server::MariaDb.find("mariadbd")?));
                install.arg(format!("--datadir={}", empty.display()));
                home::run(install)?;
                // To the server a directory is a database.
                let database = empty.join(MariaDb::DATABASE);
                fs::create_dir(&database)?;
                Ok(home::give(&database, 0o700)?)
            },
        )
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        self.extras.write(directory)?;
        let program = Server::MariaDb.find("mariadbd")?;
        let mut command = self.plain(&program, directory);
        if self.extras.arguments.iter().any(|it| it == "--wsrep-on=ON") {
            // By itself it would not name an address of this machine's alone.
            command.arg(format!("--wsrep-node-incoming-address={}", self.address));
            let recover = || self.plain(&program, directory);
            if let Some(number) = galera::recovered(&directory.join("data"), recover)? {
                command.arg(format!("--wsrep-start-position={number}"));
            }
        }
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        greets(self.address, Duration::from_secs(2))
    }
}

/// What servers of both makers are told.
pub(super) fn usual(address: SocketAddr, directory: &Path) -> [String; 9] {
    let at = |name: &str| directory.join(name).display().to_string();
    [
        "--bind-address=127.0.0.1".to_owned(),
        "--skip-name-resolve".to_owned(),
        format!("--port={}", address.port()),
        format!("--datadir={}", at("data")),
        format!("--tmpdir={}", at("")),
        format!("--socket={}", at("sock")),
        format!("--pid-file={}", at("pid.own")),
        // Written at each commit, so kill -9 loses nothing; only the machine itself could.
        "--innodb-flush-log-at-trx-commit=2".to_owned(),
        "--innodb-buffer-pool-size=32M".to_owned(),
    ]
}

/// Where the rest of the server lies whose program is `usr/sbin/mariadbd` of some directory: its
/// messages and the tables that it begins with.
pub(super) fn base(program: &Path) -> Option<String> {
    let base = program.parent()?.parent()?;
    // The system's knows by itself.
    let is_base = base != Path::new("/usr") && base.join("share").is_dir();
    is_base.then(|| format!("--basedir={}", base.display()))
}

/// The part of `mariadbd  Ver 10.11.19-MariaDB-… for …` that names the release.
pub(super) fn release(version: &str) -> &str {
    version
        .split_whitespace()
        .skip_while(|word| *word != "Ver")
        .nth(1)
        .unwrap_or("unknown")
}

/// The server speaks first: a packet whose body starts with the protocol version, 10.
pub(super) fn greets(address: SocketAddr, limit: Duration) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    match head[4] {
        10 => Ok(()),
        other => Err(io::Error::other(format!("it answers with packet {other}"))),
    }
}
