//! Redisson's locks beside our reentrant ones, on Redis.

use std::sync::LazyLock;

use tenure_testkit::servers::Redis;

use crate::machine::Library;
use crate::ours::{Kind, LEASE};
use crate::stories::{Fleet, stories};

pub(crate) static SERVER: LazyLock<Redis> = LazyLock::new(|| Redis::start().unwrap());

fn fleet(version: &'static str, lock: &str, name: &str) -> Fleet {
    let name = format!("{lock}-{version}-{name}");
    let address = format!("127.0.0.1:{}", SERVER.port());
    Fleet {
        url: format!("redis://{address}"),
        kind: Kind::Reentrant,
        library: Library {
            profile: "redisson",
            version,
            class: "RedissonLock",
        },
        words: [
            &address,
            &name,
            &LEASE.as_millis().to_string(),
            &lock.to_owned(),
        ]
        .map(Clone::clone)
        .to_vec(),
        shares_tokens: lock == "fenced",
        name,
    }
}

mod plain_3_52 {
    use super::*;
    stories!(fleet, "3.52.0", "plain");
}

mod fenced_3_52 {
    use super::*;
    stories!(fleet, "3.52.0", "fenced");
}

mod plain_4_7 {
    use super::*;
    stories!(fleet, "4.7.0", "plain");
}

mod fenced_4_7 {
    use super::*;
    stories!(fleet, "4.7.0", "fenced");
}
