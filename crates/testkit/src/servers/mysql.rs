//! Oracle's MySQL, which is filled and told of in other ways than MariaDB.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::error::ServerError;
use super::extras::Extras;
use super::find::Server;
use super::mariadb::{MariaDb, base, greets, release, usual};
use super::process::Recipe;
use super::{home, template};

/// A small redo log, as for MariaDB, and no files that no test reads.
const SMALL: [&str; 4] = [
    "--innodb-redo-log-capacity=8M",
    "--skip-log-bin",
    "--mysqlx=OFF",
    // Its own folder for imports is the system's, and may be missing.
    "--secure-file-priv=NULL",
];

#[derive(Debug)]
pub(super) struct Node {
    pub(super) address: SocketAddr,
    pub(super) extras: Extras,
}

impl Recipe for Node {
    fn fill(&self, data: &Path) -> Result<(), ServerError> {
        let program = Server::MySql.find("mysqld")?;
        let mut version = home::command(&program, data);
        version.args(["--no-defaults", "--version"]);
        let key = format!("mysql-{}", release(&home::run(version)?));
        template::copy(&key, data, |empty| initialize(&program, empty))?;
        // Who it is: each begins as another, or none could be the replica of another.
        match fs::remove_file(data.join("auto.cnf")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn command(&self, directory: &Path) -> Result<Command, ServerError> {
        self.extras.write(directory)?;
        let program = Server::MySql.find("mysqld")?;
        let mut command = Command::new(&program);
        command
            .arg("--no-defaults")
            .args(SMALL)
            .args(base(&program));
        command.args(usual(self.address, directory));
        self.extras.apply(&mut command, directory);
        Ok(command)
    }

    fn ready(&self) -> io::Result<()> {
        greets(self.address, Duration::from_secs(2))
    }
}

/// Its only user comes over the socket; ours comes from 127.0.0.1, which has no name here.
fn initialize(program: &Path, empty: &Path) -> Result<(), ServerError> {
    let (user, database) = (MariaDb::USER, MariaDb::DATABASE);
    let statements = format!(
        "CREATE USER {user}@'127.0.0.1';\n\
         GRANT ALL ON *.* TO {user}@'127.0.0.1' WITH GRANT OPTION;\n\
         CREATE DATABASE {database};\n"
    );
    let begins = empty.with_added_extension("sql");
    fs::write(&begins, statements)?;
    home::give(&begins, 0o600)?;
    let mut initialize = home::command(program, empty);
    initialize.args(["--no-defaults", "--initialize-insecure"]);
    initialize.args(SMALL).args(base(program));
    initialize.arg(format!("--datadir={}", empty.display()));
    initialize.arg(format!("--init-file={}", begins.display()));
    home::run(initialize).map(drop)
}
