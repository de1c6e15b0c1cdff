//! The areas of `--only`: their names, what they need, and which test targets belong to them.
//!
//! A test target named after an area belongs to it, one in [`ALSO`] to the area given there; every
//! other one is part of `core`. A new store is a line in [`Area::ALL`], [`Area::name`] and [`Area::servers`].

use crate::find::Server;
use crate::programs::{Missing, Program};

/// Test targets whose name does not say what they need.
const ALSO: [(&str, Area); 9] = [
    ("bench", Area::Servers),
    ("cli", Area::Servers),
    ("combination", Area::Redis),
    ("contention", Area::Servers),
    ("deploy", Area::Servers),
    ("fencing", Area::Servers),
    ("reentrant", Area::Servers),
    ("schedule_stores", Area::Servers),
    ("views", Area::Servers),
];

/// In the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Area {
    /// Everything that needs no server, the documentation and the examples.
    Core,
    Sqlite,
    Redis,
    Mysql,
    Postgres,
    Zookeeper,
    /// What starts every kind of server there is, above all the testkit's own launchers, and the
    /// program on all of them, also on a terminal; and what is deployed beside it.
    Servers,
    /// Instructions of the engine, counted by valgrind.
    Counts,
    /// A short selection of what `cargo xtask faults` does.
    Faults,
    /// The dashboard's page in a real browser.
    Browser,
    /// Real libraries of the JVM beside ours; only where it is named.
    Jvm,
    /// Owners in a virtual machine; only where it is named.
    Machine,
}

impl Area {
    /// What runs unless areas are named.
    pub(crate) const USUAL: [Self; 10] = [
        Self::Core,
        Self::Sqlite,
        Self::Redis,
        Self::Mysql,
        Self::Postgres,
        Self::Zookeeper,
        Self::Servers,
        Self::Counts,
        Self::Faults,
        Self::Browser,
    ];

    pub(crate) const ALL: [Self; 12] = [
        Self::Core,
        Self::Sqlite,
        Self::Redis,
        Self::Mysql,
        Self::Postgres,
        Self::Zookeeper,
        Self::Servers,
        Self::Counts,
        Self::Faults,
        Self::Browser,
        Self::Jvm,
        Self::Machine,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Zookeeper => "zookeeper",
            Self::Servers => "servers",
            Self::Jvm => "jvm",
            Self::Machine => "machine",
            Self::Counts => "counts",
            Self::Faults => "faults",
            Self::Browser => "browser",
        }
    }

    /// The servers that the area's tests start.
    fn servers(self) -> &'static [Server] {
        match self {
            Self::Core | Self::Counts => &[],
            Self::Sqlite => &[Server::Faketime],
            Self::Redis => &[Server::Redis, Server::Faketime],
            Self::Mysql => &[Server::MariaDb, Server::Galera, Server::Faketime],
            Self::Postgres => &[Server::Postgres, Server::Pgpool, Server::Faketime],
            Self::Zookeeper => &[Server::ZooKeeper, Server::Curator, Server::Faketime],
            Self::Servers => &Server::ALL,
            Self::Faults => &[Server::Redis, Server::Postgres, Server::Faketime],
            Self::Jvm => &[Server::Redis, Server::MariaDb, Server::ZooKeeper],
            Self::Browser | Self::Machine => &[Server::Redis],
        }
    }

    /// A compiler is part of every area: SQLite is built from source with the workspace.
    fn needs(self) -> impl Iterator<Item = Program> {
        let servers = self.servers().iter().copied().map(Program::Server);
        let more: &[Program] = match self {
            Self::Servers => &[Program::Terminal, Program::Promtool],
            Self::Counts => &[Program::Valgrind],
            Self::Browser => &[Program::Browser],
            Self::Jvm => &[Program::Maven],
            Self::Machine => &[Program::Hypervisor],
            _ => &[],
        };
        std::iter::once(Program::Compiler)
            .chain(servers)
            .chain(more.iter().copied())
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == name)
    }

    /// The area of a test target.
    pub(crate) fn of_target(target: &str) -> Self {
        let also = ALSO.into_iter().find(|(name, _)| *name == target);
        also.map(|(_, area)| area)
            .or_else(|| Self::from_name(target))
            .unwrap_or(Self::Core)
    }

    /// `core, sqlite`
    pub(crate) fn list(areas: &[Self]) -> String {
        areas
            .iter()
            .map(|area| area.name())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// What the areas need, each program once.
pub(crate) fn needs(areas: &[Area]) -> Vec<Program> {
    let mut needs = Vec::new();
    for need in areas.iter().flat_map(|area| area.needs()) {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

/// Those areas that need none of the missing programs.
pub(crate) fn possible(areas: &[Area], missing: &[Missing]) -> Vec<Area> {
    let lacks = |need: Program| missing.iter().any(|missing| missing.program == need);
    areas
        .iter()
        .copied()
        .filter(|area| !area.needs().any(lacks))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_area_is_found_by_its_name() {
        for area in Area::ALL {
            assert_eq!(Area::from_name(area.name()), Some(area));
        }
        assert_eq!(Area::from_name("Redis"), None);
        assert_eq!(Area::from_name(""), None);
    }

    #[test]
    fn a_target_with_an_unknown_name_is_core() {
        assert_eq!(Area::of_target("redis"), Area::Redis);
        assert_eq!(Area::of_target("servers"), Area::Servers);
        assert_eq!(Area::of_target("fencing"), Area::Servers);
        assert_eq!(Area::of_target("views"), Area::Servers);
        assert_eq!(Area::of_target("bench"), Area::Servers);
        assert_eq!(Area::of_target("counts"), Area::Counts);
        assert_eq!(Area::of_target("faults"), Area::Faults);
        assert_eq!(Area::of_target("architecture"), Area::Core);
    }

    #[test]
    fn areas_need_only_their_own_servers() {
        let server = Program::Server;
        assert_eq!(needs(&[Area::Core]), [Program::Compiler]);
        assert_eq!(
            needs(&[Area::Core, Area::Sqlite]),
            [Program::Compiler, server(Server::Faketime)]
        );
        assert_eq!(
            needs(&[Area::Redis, Area::Zookeeper]),
            [
                Program::Compiler,
                server(Server::Redis),
                server(Server::Faketime),
                server(Server::ZooKeeper),
                server(Server::Curator)
            ]
        );
        let all = needs(&[Area::Servers]);
        assert_eq!(all.len(), 3 + Server::ALL.len());
        assert!(all.contains(&Program::Terminal) && all.contains(&Program::Promtool));
        let counts = needs(&[Area::Counts]);
        assert_eq!(counts, [Program::Compiler, Program::Valgrind]);
        let browser = [Program::Compiler, server(Server::Redis), Program::Browser];
        assert_eq!(needs(&[Area::Browser]), browser);
    }

    #[test]
    fn what_needs_nothing_missing_is_possible() {
        let without = |programs: &[Program]| {
            let missing = |program: &Program| Missing {
                program: *program,
                files: vec!["x"],
            };
            let missing: Vec<_> = programs.iter().map(missing).collect();
            Area::list(&possible(&Area::USUAL, &missing))
        };
        let [redis, zookeeper] = [Server::Redis, Server::ZooKeeper].map(Program::Server);
        assert_eq!(
            without(&[zookeeper]),
            "core, sqlite, redis, mysql, postgres, counts, faults, browser"
        );
        assert_eq!(
            without(&[zookeeper, redis]),
            "core, sqlite, mysql, postgres, counts"
        );
        assert_eq!(without(&[Program::Compiler]), "");
    }
}
