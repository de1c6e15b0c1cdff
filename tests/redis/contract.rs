//! Every sentence of the contract, on one server.

use std::time::Duration;

use tenure::clock::Clock;
use tenure::stores::redis::Redis;
use tenure_testkit::contract::Subject;

use crate::support;

struct OneServer;

impl Subject for OneServer {
    type Backend = Redis;

    async fn client(&self) -> tenure::Result<Redis> {
        support::try_open(&support::url(support::shared())).await
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }

    fn patience(&self) -> Duration {
        support::PATIENCE
    }
}

tenure_testkit::contract_tests! { #[tokio::test] OneServer }

/// The same by contenders whose ids others may have, too: their grants lie elsewhere.
mod shared_ids {
    use super::*;

    struct SharedIds;

    impl Subject for SharedIds {
        type Backend = Redis;

        async fn client(&self) -> tenure::Result<Redis> {
            OneServer.client().await
        }

        fn clock(&self) -> Clock {
            OneServer.clock()
        }

        fn patience(&self) -> Duration {
            OneServer.patience()
        }

        fn unique_ids(&self) -> bool {
            false
        }
    }

    tenure_testkit::contract_tests! { #[tokio::test] SharedIds }
}
