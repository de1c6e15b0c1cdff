//! Which servers there are beside the system's, and where Debian has them.

use crate::areas::Area;
use crate::find::Server;

/// What `--servers` may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collection {
    /// The newest of each that Debian has.
    Newest,
    /// Those of Debian 13.
    Trixie,
    /// Valkey in the place of Redis.
    Valkey,
    /// Debian 13's Valkey.
    Valkey8,
    /// Oracle's MySQL in the place of MariaDB.
    MySql,
}

/// A server that can be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unpacked {
    pub(crate) server: Server,
    pub(crate) suite: &'static str,
    /// The first is the server's; the libraries that they depend on come by themselves.
    pub(crate) packages: &'static [&'static str],
    /// The main program, in the directory where all of it lies.
    pub(crate) program: &'static str,
}

impl Unpacked {
    /// The name of its directory.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.packages[0], self.suite)
    }
}

const fn redis(suite: &'static str) -> Unpacked {
    Unpacked {
        server: Server::Redis,
        suite,
        // redis-tools has the program, redis-server a link to it.
        packages: &["redis-server", "redis-tools"],
        program: "usr/bin/redis-server",
    }
}

const fn valkey(suite: &'static str) -> Unpacked {
    Unpacked {
        server: Server::Redis,
        suite,
        packages: &["valkey-server", "valkey-tools"],
        program: "usr/bin/valkey-server",
    }
}

/// With Galera in the same directory: the server loads it, so it must be of the same libraries.
const MARIADB: &[&str] = &["mariadb-server-core", "mariadb-client-core", "galera-4"];

const fn mariadb(suite: &'static str) -> Unpacked {
    Unpacked {
        server: Server::MariaDb,
        suite,
        packages: MARIADB,
        program: "usr/sbin/mariadbd",
    }
}

const fn galera(suite: &'static str) -> Unpacked {
    Unpacked {
        server: Server::Galera,
        suite,
        packages: MARIADB,
        program: "usr/lib/galera/libgalera_smm.so",
    }
}

const NEWEST: [Unpacked; 4] = [
    redis("sid"),
    mariadb("sid"),
    galera("sid"),
    Unpacked {
        server: Server::Postgres,
        suite: "sid",
        packages: &["postgresql-18", "postgresql-client-18"],
        program: "usr/lib/postgresql/18/bin/postgres",
    },
];

const TRIXIE: [Unpacked; 4] = [
    redis("trixie"),
    mariadb("trixie"),
    galera("trixie"),
    Unpacked {
        server: Server::Postgres,
        suite: "trixie",
        packages: &["postgresql-17", "postgresql-client-17"],
        program: "usr/lib/postgresql/17/bin/postgres",
    },
];

const VALKEY: [Unpacked; 1] = [valkey("sid")];
const VALKEY_8: [Unpacked; 1] = [valkey("trixie")];

const MYSQL: [Unpacked; 1] = [Unpacked {
    server: Server::MySql,
    suite: "sid",
    packages: &["mysql-server-core", "mysql-client-core"],
    program: "usr/sbin/mysqld",
}];

impl Collection {
    pub(crate) const ALL: [Self; 5] = [
        Self::Newest,
        Self::Trixie,
        Self::Valkey,
        Self::Valkey8,
        Self::MySql,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Trixie => "trixie",
            Self::Valkey => "valkey",
            Self::Valkey8 => "valkey-8",
            Self::MySql => "mysql",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// `newest, trixie`
    pub(crate) fn list() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    pub(crate) fn servers(self) -> &'static [Unpacked] {
        match self {
            Self::Newest => &NEWEST,
            Self::Trixie => &TRIXIE,
            Self::Valkey => &VALKEY,
            Self::Valkey8 => &VALKEY_8,
            Self::MySql => &MYSQL,
        }
    }

    /// The beginnings of the names of tests that these servers cannot have.
    pub(crate) fn leaves_out(self) -> &'static [&'static str] {
        match self {
            // Galera is MariaDB's.
            Self::MySql => &["galera::", "counts::mariadb_"],
            _ => &[],
        }
    }

    /// What is run on it unless areas are named: what is about these servers.
    pub(crate) fn areas(self) -> &'static [Area] {
        match self {
            Self::Newest | Self::Trixie => &[Area::Redis, Area::Mysql, Area::Postgres],
            Self::Valkey | Self::Valkey8 => &[Area::Redis],
            Self::MySql => &[Area::Mysql],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collection_is_found_by_its_name() {
        for collection in Collection::ALL {
            assert_eq!(Collection::from_name(collection.name()), Some(collection));
        }
        assert_eq!(Collection::from_name("oldest"), None);
    }

    #[test]
    fn no_two_servers_lie_in_one_directory() {
        let all = Collection::ALL.into_iter().flat_map(Collection::servers);
        // Galera is a library of MariaDB's, with all its packages.
        let servers = all.clone().filter(|it| it.server != Server::Galera);
        let names: std::collections::BTreeSet<_> = servers.clone().map(Unpacked::name).collect();
        assert_eq!(names.len(), servers.count());
        for galera in all.filter(|it| it.server == Server::Galera) {
            assert_eq!(galera.packages, MARIADB);
        }
    }
}
