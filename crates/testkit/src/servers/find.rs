//! Which programs the tests need, where they are looked for, and which packages hold them.
//!
//! This file uses nothing but the standard library and no other module: `xtask` includes it by
//! path, so that what it installs and what the launchers look for can never differ.

// Each of the two crates that compile this file uses only a part of it.
#![allow(dead_code, unreachable_pub)]

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Something the tests need from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Server {
    /// Redis; Sentinel and Cluster are the same program.
    Redis,
    /// MariaDB, with the command-line client.
    MariaDb,
    /// Galera, which makes several servers of MariaDB one. A library that the server loads.
    Galera,
    /// Oracle's MySQL, with the command-line client, in the place of MariaDB where its variable
    /// says where it is. No package of Debian's stable releases has it.
    MySql,
    /// PostgreSQL, with the command-line client.
    Postgres,
    /// Pgpool-II, which stands before several PostgreSQL servers.
    Pgpool,
    /// ZooKeeper: a Java runtime and the jars.
    ZooKeeper,
    /// Curator and a Java compiler: peers of our ZooKeeper clients.
    Curator,
    /// libfaketime. Not a server, but found and installed in the same way.
    Faketime,
}

/// The names of the packages that hold a server, for each package manager.
#[derive(Clone, Copy, Debug)]
pub struct Packages {
    /// Debian and Ubuntu.
    pub apt: &'static [&'static str],
    /// Fedora and its relatives. Empty where they have no such package.
    pub dnf: &'static [&'static str],
    /// Homebrew.
    pub brew: &'static [&'static str],
}

impl Server {
    /// Everything the tests need. [`MySql`](Server::MySql) only takes the place of another.
    pub const ALL: [Server; 8] = [
        Server::Redis,
        Server::MariaDb,
        Server::Galera,
        Server::Postgres,
        Server::Pgpool,
        Server::ZooKeeper,
        Server::Curator,
        Server::Faketime,
    ];

    /// A short name, in lower case.
    pub fn key(self) -> &'static str {
        match self {
            Server::Redis => "redis",
            Server::MariaDb => "mariadb",
            Server::Galera => "galera",
            Server::MySql => "mysql",
            Server::Postgres => "postgres",
            Server::Pgpool => "pgpool",
            Server::ZooKeeper => "zookeeper",
            Server::Curator => "curator",
            Server::Faketime => "faketime",
        }
    }

    /// The variable that says where it is: the program itself or the directory that holds it
    /// (for ZooKeeper and Curator the directory with the jars).
    pub fn variable(self) -> String {
        format!("TENURE_{}_BIN", self.key().to_uppercase())
    }

    /// Whether its variable says where it is.
    pub fn is_named(self) -> bool {
        env::var_os(self.variable()).is_some()
    }

    /// The files that must be there. The first is the one the variable may name.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Server::Redis => &["redis-server"],
            Server::MariaDb => &["mariadbd", "mariadb-install-db", "mariadb"],
            Server::Galera => &["libgalera_smm.so"],
            Server::MySql => &["mysqld", "mysql"],
            Server::Postgres => &["postgres", "initdb", "psql", "pg_basebackup"],
            Server::Pgpool => &["pgpool"],
            Server::ZooKeeper => &["zookeeper.jar", "java"],
            Server::Curator => &["curator-recipes.jar", "javac"],
            Server::Faketime if cfg!(target_os = "macos") => &["libfaketime.1.dylib"],
            Server::Faketime => &["libfaketime.so.1"],
        }
    }

    /// The packages that hold those files.
    pub fn packages(self) -> Packages {
        match self {
            Server::Redis => Packages {
                apt: &["redis-server"],
                dnf: &["redis"],
                brew: &["redis"],
            },
            Server::MariaDb => Packages {
                apt: &["mariadb-server-core", "mariadb-client-core"],
                dnf: &["mariadb-server", "mariadb"],
                brew: &["mariadb"],
            },
            Server::Galera => Packages {
                apt: &["galera-4"],
                dnf: &["galera"],
                brew: &[],
            },
            Server::MySql => Packages {
                apt: &[],
                dnf: &["community-mysql-server", "community-mysql"],
                brew: &["mysql"],
            },
            Server::Postgres => Packages {
                apt: &["postgresql"],
                dnf: &["postgresql-server", "postgresql"],
                brew: &["postgresql@17"],
            },
            Server::Pgpool => Packages {
                apt: &["pgpool2"],
                dnf: &["pgpool-II"],
                brew: &["pgpool-ii"],
            },
            Server::ZooKeeper => Packages {
                apt: &["libzookeeper-java", "default-jre-headless"],
                dnf: &[],
                brew: &["zookeeper"],
            },
            Server::Curator => Packages {
                apt: &["libcurator-recipes-java", "default-jdk-headless"],
                dnf: &[],
                brew: &[],
            },
            Server::Faketime => Packages {
                apt: &["libfaketime"],
                dnf: &["libfaketime"],
                brew: &["libfaketime"],
            },
        }
    }

    /// Directories searched after those of `PATH`. A `*` stands for any part of one name.
    fn directories(self) -> &'static [&'static str] {
        match self {
            Server::Redis => &["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"],
            Server::MariaDb => &[
                "/usr/sbin",
                "/usr/local/sbin",
                "/usr/libexec",
                "/usr/lib/mysql/bin",
                "/usr/local/mysql/bin",
                "/opt/homebrew/opt/mariadb/bin",
                "/usr/local/opt/mariadb/bin",
            ],
            Server::Galera => &[
                "/usr/lib/galera",
                "/usr/lib64/galera",
                "/usr/lib64/galera-4",
            ],
            Server::MySql => &["/usr/sbin", "/usr/libexec", "/opt/homebrew/opt/mysql/bin"],
            Server::Postgres => &[
                "/usr/lib/postgresql/*/bin",
                "/usr/pgsql-*/bin",
                "/opt/homebrew/opt/postgresql@*/bin",
                "/usr/local/opt/postgresql@*/bin",
            ],
            Server::Pgpool => &["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"],
            Server::ZooKeeper | Server::Curator => &[
                "/usr/share/java",
                "/usr/lib/jvm/*/bin",
                "/opt/homebrew/opt/openjdk/bin",
                "/opt/homebrew/opt/zookeeper/libexec/lib",
                "/usr/local/opt/openjdk/bin",
                "/usr/local/opt/zookeeper/libexec/lib",
            ],
            Server::Faketime => &[
                "/usr/lib/*/faketime",
                "/usr/lib64/faketime",
                "/usr/lib/faketime",
                "/opt/homebrew/opt/libfaketime/lib/faketime",
                "/usr/local/opt/libfaketime/lib/faketime",
            ],
        }
    }

    /// Finds one of [`programs`](Server::programs).
    pub fn find(self, program: &str) -> Result<PathBuf, Missing> {
        let missing = |looked_in| Missing {
            server: self,
            program: program.to_owned(),
            looked_in,
        };
        let main = program == self.programs()[0];
        let mut places = Vec::new();
        if let Some(named) = env::var_os(self.variable()).map(PathBuf::from) {
            if main && named.is_file() {
                return Ok(named);
            }
            let folder = if named.is_file() {
                named.parent()
            } else {
                Some(named.as_path())
            };
            places.extend(folder.map(Path::to_path_buf));
            // Debian has a server in `sbin` and its tools in `bin`.
            places.extend(folder.map(|folder| folder.with_file_name("bin")));
            if main {
                // A user who names a server wants that one, not another that happens to be there.
                return pick(program, &places).ok_or_else(|| missing(places));
            }
        }
        if matches!(self, Server::ZooKeeper | Server::Curator) {
            places.extend(env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin")));
        }
        places.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let usual: Vec<_> = self
            .directories()
            .iter()
            .flat_map(|dir| expand(dir))
            .collect();
        pick(program, &places)
            .or_else(|| pick(program, &usual))
            .ok_or_else(|| {
                places.extend(self.directories().iter().map(PathBuf::from));
                missing(places)
            })
    }

    /// Checks that every program is there.
    pub fn find_all(self) -> Result<Vec<PathBuf>, Missing> {
        self.programs()
            .iter()
            .map(|program| self.find(program))
            .collect()
    }
}

/// The first of these directories that has the program.
fn pick(program: &str, places: &[PathBuf]) -> Option<PathBuf> {
    places.iter().find_map(|place| {
        let exact = place.join(program);
        if exact.is_file() {
            return Some(exact);
        }
        // Outside Debian a jar carries its version in its name.
        let stem = program.strip_suffix(".jar")?;
        let versioned = |name: &str| {
            let rest = name
                .strip_prefix(stem)
                .and_then(|rest| rest.strip_prefix('-'));
            name.ends_with(".jar") && rest.is_some_and(|rest| rest.starts_with(char::is_numeric))
        };
        let mut found = names(place);
        found.retain(|name| versioned(name));
        found.pop().map(|name| place.join(name))
    })
}

/// The directories a pattern stands for, the highest version first.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some(star) = pattern.find('*') else {
        return vec![PathBuf::from(pattern)];
    };
    let start = pattern[..star].rfind('/').map_or(0, |slash| slash + 1);
    let end = pattern[star..]
        .find('/')
        .map_or(pattern.len(), |slash| star + slash);
    let (before, after) = (&pattern[start..star], &pattern[star + 1..end]);
    let parent = Path::new(&pattern[..start]);
    let mut found = names(parent);
    found.retain(|name| name.starts_with(before) && name.ends_with(after));
    let rest = pattern[end..].trim_start_matches('/');
    found
        .into_iter()
        .rev()
        .map(|name| parent.join(name).join(rest))
        .collect()
}

/// The names in a directory, lower versions first: 9 comes before 15.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_by_key(|name| {
        let numbers = name.split(|c: char| !c.is_ascii_digit());
        (
            numbers.filter_map(|n| n.parse().ok()).collect::<Vec<u64>>(),
            name.clone(),
        )
    });
    names
}

/// A program that is not on this machine, and what to do about it.
#[derive(Clone, PartialEq, Eq)]
pub struct Missing {
    server: Server,
    program: String,
    looked_in: Vec<PathBuf>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing {
            server,
            program,
            looked_in,
        } = self;
        let places: Vec<_> = looked_in
            .iter()
            .map(|place| place.display().to_string())
            .collect();
        let Packages { apt, dnf, brew } = server.packages();
        writeln!(
            f,
            "{} is needed and `{program}` was not found.",
            server.key()
        )?;
        writeln!(f, "  looked in: {}", places.join(", "))?;
        writeln!(f, "  or say where it is: {}=/path", server.variable())?;
        write!(f, "  or install it:")?;
        for (manager, packages) in [("apt-get", apt), ("dnf", dnf), ("brew", brew)] {
            if !packages.is_empty() {
                write!(f, " `{manager} install {}`", packages.join(" "))?;
            }
        }
        Ok(())
    }
}

// A test that unwraps must show the advice, not the fields.
impl fmt::Debug for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Missing {}
