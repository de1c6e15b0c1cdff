//! MariaDB and PostgreSQL.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::slice::from_ref;
use std::time::Duration;

use tenure_testkit::servers::{MariaDb, Postgres, Proxy, ServerError, Speech};

use super::drift::{drifts, slow_and_cut_off};
use super::strangers::{self, Tongue};
use super::ways::{self, Ways};
use super::{Cost, Mishap, NAMES, Scene, TERMS, Topology, clock_ahead, late};
use crate::fleet::Fleet;
use crate::worker::Store;

/// How many sessions a server allows: enough for all workers, and soon used up.
const SESSIONS: usize = 40;

/// The sessions of workers that wait for a row.
const BLOCKED_MARIA: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
     WHERE DB = 'tenure' AND COMMAND <> 'Sleep' AND TIME_MS > 100 AND ID <> CONNECTION_ID() \
     AND INFO NOT LIKE 'SELECT SLEEP%'";
const BLOCKED_PG: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE application_name = 'tenure' AND wait_event_type = 'Lock'";

pub(super) struct Maria {
    server: MariaDb,
    ways: Ways,
}

pub(super) struct Pg {
    server: Postgres,
    ways: Ways,
}

impl Maria {
    pub(super) fn start() -> Result<Self, ServerError> {
        let sessions = SESSIONS.to_string();
        let server = MariaDb::builder().set("max-connections", &sessions);
        let server = server.own_clock()?.own_disk()?.start()?;
        let ways = ways::start(&[server.address()], Some(Speech::MySql))?;
        Ok(Self { server, ways })
    }
}

impl Pg {
    pub(super) fn start() -> Result<Self, ServerError> {
        let sessions = SESSIONS.to_string();
        let server = Postgres::builder().set("max_connections", &sessions);
        let server = server.own_clock()?.own_disk()?.start()?;
        let ways = ways::start(&[server.address()], Some(Speech::Postgres))?;
        Ok(Self { server, ways })
    }
}

/// The owners are forgotten; the ledgers of schedules are not.
fn rows_deleted<'a>(
    delete: impl Fn() -> Result<String, ServerError> + Send + Sync + 'a,
) -> Mishap<'a> {
    let happens = move |scene: &mut Scene<'_>| scene.log.forgetting(&delete).map(drop);
    Mishap::new("rows deleted by a stranger", happens).costing(Cost::Memory)
}

/// Takes every session there is, ends those of the workers, and waits.
fn use_up(
    address: SocketAddr,
    ways: &Ways,
    scene: &Scene<'_>,
    enter: impl Fn(&mut TcpStream) -> std::io::Result<()>,
) -> Result<(), ServerError> {
    let mut strangers = Vec::new();
    ways.iter().flatten().try_for_each(Proxy::cut)?;
    for _ in 0..SESSIONS {
        let Ok(mut stream) = TcpStream::connect(address) else {
            break;
        };
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        if enter(&mut stream).is_ok() {
            strangers.push(stream);
        }
    }
    if strangers.is_empty() {
        return Err(ServerError::new("no session was left to take"));
    }
    scene.wait(1.0);
    Ok(())
}

/// MariaDB counts clients that have been greeted.
fn hears_greeting(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.read_exact(&mut [0; 5])
}

/// PostgreSQL counts clients that have said who they are.
fn says_its_name(stream: &mut TcpStream) -> std::io::Result<()> {
    let names = format!(
        "user\0{}\0database\0{}\0\0",
        Postgres::USER,
        Postgres::DATABASE
    );
    let length = 8 + names.len() as u32;
    let head = [length.to_be_bytes(), (3_u32 << 16).to_be_bytes()].concat();
    stream.write_all(&[&head, names.as_bytes()].concat())?;
    stream.read_exact(&mut [0; 1])
}

impl Topology for Maria {
    fn store(&self, worker: usize) -> Store {
        let (user, port) = (MariaDb::USER, self.ways[worker][0].port());
        let database = MariaDb::DATABASE;
        Store::Url(format!(
            "mysql://{user}@127.0.0.1:{port}/{database}?{TERMS}"
        ))
    }

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, true);
        menu.extend(ways::server_menu(from_ref(&self.server)));
        menu.extend(strangers::menu(fleet, || Tongue {
            sql: |statements: &str| self.server.sql(statements),
            sleep: "SLEEP",
            blocked: BLOCKED_MARIA,
        }));
        menu.extend([
            Mishap::new("sessions used up", move |scene| {
                use_up(self.server.address(), &self.ways, scene, hears_greeting)
            }),
            ways::disk_full(from_ref(&self.server)),
            slow_and_cut_off(&self.ways, fleet),
            drifts("server's clock drifts", &self.ways, |_| vec![&*self.server]),
            late::requests_late(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::one_by_one(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::silent_owner(&self.ways, fleet, &NAMES, self.lease()),
            rows_deleted(move || {
                // What the clock has not passed would be granted under a smaller token.
                let seconds = "TIMESTAMPDIFF(SECOND, '2026-01-01', UTC_TIMESTAMP())";
                let delete = format!("DELETE FROM simba_mutex WHERE version < {seconds}");
                self.server.sql(&delete)
            }),
            clock_ahead(
                "server's clock ahead",
                self.lease(),
                |_| 0,
                from_ref(&self.server),
            ),
        ]);
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        ways::mend_servers(from_ref(&self.server))?;
        self.server.set_clock(Duration::ZERO)
    }
}

impl Topology for Pg {
    fn store(&self, worker: usize) -> Store {
        let (user, port) = (Postgres::USER, self.ways[worker][0].port());
        let database = Postgres::DATABASE;
        Store::Url(format!(
            "postgres://{user}@127.0.0.1:{port}/{database}?{TERMS}"
        ))
    }

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, true);
        menu.extend(ways::server_menu(from_ref(&self.server)));
        menu.extend(strangers::menu(fleet, || Tongue {
            sql: |statements: &str| self.server.sql(statements),
            sleep: "pg_sleep",
            blocked: BLOCKED_PG,
        }));
        menu.extend([
            Mishap::new("sessions used up", move |scene| {
                use_up(self.server.address(), &self.ways, scene, says_its_name)
            }),
            ways::disk_full(from_ref(&self.server)),
            slow_and_cut_off(&self.ways, fleet),
            drifts("server's clock drifts", &self.ways, |_| vec![&*self.server]),
            late::requests_late(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::one_by_one(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::silent_owner(&self.ways, fleet, &NAMES, self.lease()),
            clock_ahead(
                "server's clock ahead",
                self.lease(),
                |_| 0,
                from_ref(&self.server),
            ),
            rows_deleted(move || self.server.sql("DELETE FROM simba_mutex")),
            Mishap::new("sessions ended by the server", move |_| {
                let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                           WHERE pid <> pg_backend_pid()";
                self.server.sql(end).map(drop)
            }),
        ]);
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        ways::mend_servers(from_ref(&self.server))?;
        self.server.set_clock(Duration::ZERO)
    }
}
