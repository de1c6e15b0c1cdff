//! Every sentence of the contract that applies, on the hash layout.

use std::sync::LazyLock;
use std::time::Duration;

use tenure::clock::Clock;
use tenure::stores::redis::RedisHash;
use tenure_testkit::contract::{Part, Subject};
use tenure_testkit::servers::Redis;

static SERVER: LazyLock<Redis> = LazyLock::new(|| Redis::start().expect("a Redis server"));

struct Hash;

impl Subject for Hash {
    type Backend = RedisHash;

    async fn client(&self) -> tenure::Result<RedisHash> {
        let url = format!("redis://127.0.0.1:{}", SERVER.port());
        RedisHash::open(&url.parse()?, Clock::boot()).await
    }

    fn lacks(&self) -> &[Part] {
        &[Part::Ledger, Part::Inventory]
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}

tenure_testkit::contract_tests! { #[tokio::test] Hash }
