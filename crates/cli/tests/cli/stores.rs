//! The stores on which the program is tested: one server of each kind, started
//! when it is first needed.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_testkit::servers::{MariaDb, Postgres, Redis, ZooKeeper};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Redis,
    MariaDb,
    Postgres,
    ZooKeeper,
}

static REDIS: LazyLock<Redis> = LazyLock::new(|| Redis::start().unwrap());
static MARIADB: LazyLock<MariaDb> = LazyLock::new(|| MariaDb::start().unwrap());
static POSTGRES: LazyLock<Postgres> = LazyLock::new(|| Postgres::start().unwrap());
static ZOOKEEPER: LazyLock<ZooKeeper> = LazyLock::new(|| ZooKeeper::start().unwrap());

/// How long a lease lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// As in production: no pause of a busy machine ends it.
    Usual,
    /// About five seconds, renewed every second. With a margin: on a busy
    /// machine a guardian is woken late.
    Short,
}

impl Store {
    /// The URL of the server that all tests share; `None` for the embedded
    /// store, of which each test has its own.
    pub(crate) fn place(self) -> Option<String> {
        match self {
            Self::Sqlite => None,
            Self::Redis => Some(format!("redis://{}", REDIS.address())),
            Self::MariaDb => Some(MARIADB.url()),
            Self::Postgres => Some(POSTGRES.url()),
            Self::ZooKeeper => Some(format!("zookeeper://{}", ZOOKEEPER.address())),
        }
    }

    /// Lets a user in with this password, who may do everything.
    pub(crate) fn admit(self, user: &str, password: &str) {
        match self {
            Self::Redis => {
                let password = format!(">{password}");
                let words = ["ACL", "SETUSER", user, "on", &password, "~*", "&*", "+@all"];
                REDIS.command(&words).unwrap();
            }
            Self::MariaDb => {
                let who = format!("'{user}'@'%'");
                let sql = format!(
                    "CREATE USER {who} IDENTIFIED BY '{password}'; GRANT ALL ON *.* TO {who}"
                );
                MARIADB.sql(&sql).unwrap();
            }
            // The file, every user, and a client that says so.
            Self::Sqlite | Self::Postgres | Self::ZooKeeper => {}
        }
    }

    /// Writes another plan into the ledger of a schedule, as a peer could.
    pub(crate) fn spoil_plan(self, schedule: &str, plan: &str) {
        assert_eq!(self, Self::Redis, "for the others nobody has needed it");
        let key = format!("simba:{{{schedule}}}:schedule");
        assert_eq!(REDIS.command(&["EXISTS", &key]).unwrap().trim(), "1");
        REDIS.command(&["HSET", &key, "plan", plan]).unwrap();
    }

    /// Tells the shared server something.
    pub(crate) fn sql(self, statements: &str) {
        match self {
            Self::MariaDb => MARIADB.sql(statements).unwrap(),
            Self::Postgres => POSTGRES.sql(statements).unwrap(),
            _ => unreachable!("it speaks no SQL"),
        };
    }

    /// What a URL of this store says for such a lease.
    pub(crate) fn terms(self, lease: Lease) -> &'static str {
        match (self, lease) {
            // Of which the lease is five eighths.
            (Self::ZooKeeper, Lease::Short) => "?session_timeout=8s",
            (_, Lease::Short) => "?ttl=1s&transition=4s&margin=400ms",
            (_, Lease::Usual) => "",
        }
    }
}

/// A name that no other test uses: they share the servers.
pub(crate) fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("m{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Makes a test of each function, for each store.
macro_rules! on_every_store {
    ($($test:ident),* $(,)?) => {
        crate::stores::on_store!(sqlite Sqlite $($test)*);
        crate::stores::on_store!(redis Redis $($test)*);
        crate::stores::on_store!(mariadb MariaDb $($test)*);
        crate::stores::on_store!(postgres Postgres $($test)*);
        crate::stores::on_store!(zookeeper ZooKeeper $($test)*);
    };
}

macro_rules! on_store {
    ($module:ident $store:ident $($test:ident)*) => {
        mod $module {
            $(#[test]
            fn $test() {
                super::$test(crate::stores::Store::$store);
            })*
        }
    };
}

pub(crate) use {on_every_store, on_store};
