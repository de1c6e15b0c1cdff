//! One Redis server that writes everything down.

use std::slice::from_ref;
use std::thread::sleep;
use std::time::Duration;

use tenure_testkit::servers::{Redis, ServerError};

use super::ways::{self, Ways};
use super::{Mishap, TERMS, Topology};
use crate::fleet::Fleet;
use crate::worker::Store;

/// The policies by which a full server evicts what locks are made of, and the one by which it
/// refuses to write.
const POLICIES: [&str; 8] = [
    "noeviction",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
];

pub(super) struct OneRedis {
    server: Redis,
    ways: Ways,
}

impl OneRedis {
    pub(super) fn start() -> Result<Self, ServerError> {
        let server = Redis::builder().durable().own_clock()?.start()?;
        let ways = ways::start(&[server.address()], None)?;
        Ok(Self { server, ways })
    }

    fn config(&self, key: &str, value: &str) -> Result<(), ServerError> {
        Ok(self
            .server
            .command(&["CONFIG", "SET", key, value])
            .map(drop)?)
    }

    /// Fills the memory under one of the policies.
    fn fill(&self, policy: &str, length: Duration) -> Result<(), ServerError> {
        self.config("maxmemory-policy", policy)?;
        self.config("maxmemory", "1mb")?;
        let long = "x".repeat(1000);
        for at in 0..200 {
            // Refused where nothing may be evicted.
            let _ = self.server.command(&["SET", &format!("junk-{at}"), &long]);
        }
        sleep(length);
        self.roomy()
    }

    fn roomy(&self) -> Result<(), ServerError> {
        self.config("maxmemory", "0")?;
        self.config("maxmemory-policy", "noeviction")?;
        let junk: Vec<_> = (0..200).map(|at| format!("junk-{at}")).collect();
        let mut words = vec!["DEL"];
        words.extend(junk.iter().map(String::as_str));
        Ok(self.server.command(&words).map(drop)?)
    }
}

impl Topology for OneRedis {
    fn store(&self, worker: usize) -> Store {
        let port = self.ways[worker][0].port();
        Store::Url(format!("redis://127.0.0.1:{port}/0?{TERMS}"))
    }

    fn menu<'a>(&'a self, _: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend(ways::server_menu(from_ref(&self.server)));
        menu.extend([
            Mishap::new("memory full, nothing evicted", move |_, length| {
                self.fill(POLICIES[0], length)
            }),
            Mishap::new("memory full, keys evicted", move |chance, length| {
                self.fill(POLICIES[chance.usize(1..POLICIES.len())], length)
            })
            .forgetting(),
            Mishap::new("restarted without data", move |_, length| {
                self.server.wipe()?;
                sleep(length / 4);
                self.server.start()
            })
            .forgetting(),
            Mishap::new("all keys deleted", move |_, _| {
                Ok(self.server.command(&["FLUSHALL"]).map(drop)?)
            })
            .forgetting(),
            Mishap::new("server's clock ahead", move |chance, length| {
                self.server
                    .set_clock(self.lease().mul_f64(chance.f64() * 3.0))?;
                sleep(length);
                self.server.set_clock(Duration::ZERO)
            })
            .forgetting(),
        ]);
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        ways::mend_servers(from_ref(&self.server))?;
        self.server.set_clock(Duration::ZERO)?;
        self.roomy()
    }
}
