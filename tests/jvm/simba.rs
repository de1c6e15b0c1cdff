//! Simba's locker beside our locks, on Redis.
//!
//! 2.9.5 was the last in Maven Central when this was written. Its waiters are not woken by a release of ours, and
//! it renews for the ttl only (see docs/mixed-fleets.md): it excludes and is excluded all the same.

use crate::machine::Library;
use crate::ours::{Kind, TRANSITION, TTL};
use crate::redisson::SERVER;
use crate::stories::{Fleet, stories};

fn fleet(name: &str) -> Fleet {
    let name = format!("simba-{name}");
    let port = SERVER.port().to_string();
    let [ttl, transition] = [TTL, TRANSITION].map(|time| time.as_millis().to_string());
    Fleet {
        url: format!("redis://127.0.0.1:{port}"),
        kind: Kind::Plain,
        library: Library {
            profile: "simba",
            version: "2.9.5",
            class: "SimbaLock",
        },
        words: vec!["127.0.0.1".to_owned(), port, name.clone(), ttl, transition],
        shares_tokens: false,
        name,
    }
}

stories!(fleet);
