//! Every sentence of the contract that applies, on three servers at once.

use std::sync::LazyLock;
use std::time::Duration;

use tenure::CombinationLock;
use tenure::clock::Clock;
use tenure::lock::combination::Combined;
use tenure_testkit::contract::Subject;
use tenure_testkit::servers::Redis;

use super::support::{over, servers};

static SERVERS: LazyLock<Vec<Redis>> = LazyLock::new(|| servers(3));

struct Three;

impl Subject for Three {
    type Backend = Combined;

    async fn client(&self) -> tenure::Result<Combined> {
        CombinationLock::builder()
            .nodes(over(&SERVERS))
            .command_timeout(Duration::from_secs(5))
            .expiry(Duration::from_secs(60))
            .durable_nodes(true)
            .backend()
            .await
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}

tenure_testkit::contract_tests! { #[tokio::test] Three }
