//! The contract of a backend: with push, and behind a pooler.

use tenure::backend::AnyBackend;
use tenure::clock::Clock;
use tenure_testkit::contract::Subject;

use crate::SERVER;
use crate::ground::client;

struct Store(&'static str);

impl Subject for Store {
    type Backend = AnyBackend;

    async fn client(&self) -> tenure::Result<AnyBackend> {
        client(&format!("{}{}", SERVER.url(), self.0)).await
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }
}

mod push {
    use super::*;
    tenure_testkit::contract_tests! { #[tokio::test] Store("") }
}

mod poll {
    use super::*;
    tenure_testkit::contract_tests! { #[tokio::test] Store("?notify=off") }
}
