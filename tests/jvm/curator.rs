//! Curator's LeaderLatch, as JVM Simba uses it, on ZooKeeper.

use std::sync::LazyLock;

use tenure_testkit::servers::ZooKeeper;

use crate::machine::Library;
use crate::ours::{Kind, LEASE};
use crate::stories::{Fleet, stories};

static SERVER: LazyLock<ZooKeeper> = LazyLock::new(|| ZooKeeper::start().unwrap());

fn fleet(name: &str) -> Fleet {
    let (address, timeout) = (SERVER.address(), LEASE.as_millis());
    Fleet {
        url: format!("zookeeper://{address}?session_timeout={timeout}ms"),
        kind: Kind::Plain,
        library: Library {
            profile: "curator",
            version: "5.9.0",
            class: "CuratorLatch",
        },
        words: vec![
            address.to_string(),
            format!("/simba/{name}"),
            timeout.to_string(),
        ],
        shares_tokens: false,
        name: name.to_owned(),
    }
}

stories!(fleet);
