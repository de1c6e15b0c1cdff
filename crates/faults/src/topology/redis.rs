//! One Redis server that writes everything down.

use std::slice::from_ref;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_testkit::history::What;
use tenure_testkit::servers::{Redis, ServerError};

use super::drift::{drifts, slow_and_cut_off};
use super::ways::{self, Ways};
use super::{Cost, Mishap, NAMES, Scene, TERMS, Topology, clock_ahead, dead, late};
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

/// So many keys of a thousand letters do not fit.
const JUNK: usize = 200;

/// The mutexes that have a queue.
const QUEUED: [&str; 3] = ["lock", "lead", "plan"];

/// Puts something of another type in the place of an owner.
const SQUAT: &str = "redis.call('DEL', KEYS[1]) return redis.call('LPUSH', KEYS[1], 'x')";

/// Takes it away again.
const LEAVE: &str =
    "if redis.call('TYPE', KEYS[1]).ok == 'list' then redis.call('DEL', KEYS[1]) end";

/// So many are not cleared away by one call.
const DEAD: usize = 100;

pub(super) struct OneRedis {
    server: Redis,
    ways: Ways,
}

impl OneRedis {
    pub(super) fn start() -> Result<Self, ServerError> {
        let server = Redis::builder()
            .durable()
            .own_clock()?
            .own_disk()?
            .start()?;
        let ways = ways::start(&[server.address()], None)?;
        Ok(Self { server, ways })
    }

    fn config(&self, key: &str, value: &str) -> Result<(), ServerError> {
        Ok(self
            .server
            .command(&["CONFIG", "SET", key, value])
            .map(drop)?)
    }

    /// Fills the memory under one of the policies. When something is evicted is seen by how the
    /// count of it rises.
    fn fill(&self, policy: &str, scene: &Scene<'_>) -> Result<(), ServerError> {
        let mut seen = (scene.log.now(), self.evicted());
        let mut look = || {
            let now = scene.log.now();
            let evicted = self.evicted();
            let (since, before) = std::mem::replace(&mut seen, (now, evicted));
            if before.is_none() || seen.1 != before {
                scene.log.note("nemesis", What::Forgot { since });
            }
        };
        self.config("maxmemory-policy", policy)?;
        self.config("maxmemory", "1mb")?;
        let long = "x".repeat(1000);
        let begun = Instant::now();
        let mut at = 0;
        while at < JUNK || begun.elapsed() < scene.length {
            // Refused where nothing may be evicted.
            for junk in at..at + 20 {
                let key = format!("junk-{}", junk % JUNK);
                let _ = self.server.command(&["SET", &key, &long]);
            }
            at += 20;
            sleep(Duration::from_millis(10));
            look();
        }
        // The rest is mended with all else, if it cannot be now.
        let _ = self.roomy();
        look();
        Ok(())
    }

    fn eval(&self, script: &str, name: &str) -> Result<(), ServerError> {
        let key = format!("simba:{{{name}}}");
        let words = ["EVAL", script, "1", &key];
        Ok(self.server.command(&words).map(drop)?)
    }

    /// Another program has the key of a mutex for a moment. What a worker says next when it has
    /// heard of that arrives when it has been granted the mutex after all.
    fn squat_and_hold(&self, fleet: &Fleet, scene: &mut Scene<'_>) -> Result<(), ServerError> {
        // Candidates ask again whatever they are answered.
        let name = "lead";
        let at = scene.one(fleet.size());
        let way = &self.ways[at][0];
        way.hold_back_after(b"WRONGTYPE");
        let squats = scene.log.forgetting(|| self.eval(SQUAT, name));
        let refused = squats.and_then(|()| late::seen(way, self.lease()));
        // What is left is mended with all else.
        self.eval(LEAVE, name)?;
        let granted = refused
            .and_then(|()| late::granted_anew(fleet, scene, &[name], Some(at), self.lease()));
        late::arrives(fleet, granted, [way], self.lease())
    }

    /// How many keys were evicted so far.
    fn evicted(&self) -> Option<String> {
        let info = self.server.command(&["INFO", "stats"]).ok()?;
        let line = info
            .lines()
            .find(|line| line.starts_with("evicted_keys:"))?;
        Some(line.to_owned())
    }

    fn roomy(&self) -> Result<(), ServerError> {
        self.config("maxmemory", "0")?;
        self.config("maxmemory-policy", "noeviction")?;
        let junk: Vec<_> = (0..JUNK).map(|at| format!("junk-{at}")).collect();
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

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend(ways::server_menu(from_ref(&self.server)));
        menu.extend([
            ways::disk_full(from_ref(&self.server)),
            slow_and_cut_off(&self.ways, fleet),
            drifts("server's clock drifts", &self.ways, |_| vec![&*self.server]),
            Mishap::new("memory full, nothing evicted", move |scene| {
                self.fill(POLICIES[0], scene)
            }),
            Mishap::new("memory full, keys evicted", move |scene| {
                let policy = POLICIES[1 + scene.one(POLICIES.len() - 1)];
                self.fill(policy, scene)
            })
            .costing(Cost::Memory),
            Mishap::new("dead waiters in front", move |scene| {
                let name = QUEUED[scene.one(QUEUED.len())];
                let key = format!("simba:{{{name}}}:contender");
                let mut words = vec!["ZADD".to_owned(), key];
                let dead = (0..DEAD).flat_map(|at| [format!("{at}.5"), format!("dead-{at}")]);
                words.extend(dead);
                let words: Vec<_> = words.iter().map(String::as_str).collect();
                Ok(self.server.command(&words).map(drop)?)
            }),
            dead::thousands(&self.server),
            dead::behind_an_owner(&self.server, fleet),
            Mishap::new("restarted without data", move |scene| {
                scene.log.forgetting(|| self.server.wipe())?;
                scene.wait(0.25);
                let _ = self.server.spawn();
                Ok(())
            })
            .costing(Cost::Memory),
            Mishap::new("all keys deleted", move |scene| {
                let deleted = scene.log.forgetting(|| self.server.command(&["FLUSHALL"]));
                Ok(deleted.map(drop)?)
            })
            .costing(Cost::Memory),
            late::requests_late(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::one_by_one(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::silent_owner(&self.ways, fleet, &NAMES, self.lease()),
            Mishap::new("a stranger's key, then requests late", move |scene| {
                self.squat_and_hold(fleet, scene)
            })
            .costing(Cost::Memory),
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
        self.server.set_clock(Duration::ZERO)?;
        self.eval(LEAVE, "lead")?;
        self.roomy()
    }
}
