//! The stores by name.

/// A store of Tenure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Store {
    /// The engine alone.
    Memory,
    /// A file in memory.
    Sqlite,
    /// One server.
    Redis,
    /// One server.
    Postgres,
    /// One server, with the `mysql:` store.
    Mariadb,
    /// One server that is alone.
    Zookeeper,
}

impl Store {
    /// In the order in which they are measured.
    pub const ALL: [Self; 6] = [
        Self::Memory,
        Self::Sqlite,
        Self::Redis,
        Self::Postgres,
        Self::Mariadb,
        Self::Zookeeper,
    ];

    /// As `--store` takes it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Mariadb => "mysql",
            Self::Zookeeper => "zookeeper",
        }
    }

    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory store",
            Self::Sqlite => "SQLite",
            Self::Redis => "Redis",
            Self::Postgres => "PostgreSQL",
            Self::Mariadb => "MariaDB",
            Self::Zookeeper => "ZooKeeper",
        }
    }

    /// Whether a server runs for it.
    pub fn has_server(self) -> bool {
        !matches!(self, Self::Memory | Self::Sqlite)
    }
}
