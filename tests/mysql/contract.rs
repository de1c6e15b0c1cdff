//! The contract of a backend.

use tenure::backend::AnyBackend;
use tenure::clock::Clock;
use tenure_testkit::contract::Subject;

use crate::SERVER;
use crate::support::client;

struct Store;

impl Subject for Store {
    type Backend = AnyBackend;

    async fn client(&self) -> tenure::Result<AnyBackend> {
        client(&SERVER.url()).await
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }
}

tenure_testkit::contract_tests! { #[tokio::test] Store }
