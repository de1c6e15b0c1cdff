//! Every sentence of the contract.

use std::sync::Mutex;
use std::time::Duration;

use tenure::backend::AnyBackend;
use tenure::clock::Clock;
use tenure_testkit::contract::Subject;
use tenure_testkit::servers::Proxy;

use crate::support::{SERVER, client};

/// Each client comes through a proxy of its own, so that it can die.
struct Latches(Mutex<Vec<Proxy>>);

impl Latches {
    fn new() -> Self {
        Self(Mutex::default())
    }
}

impl Subject for Latches {
    type Backend = AnyBackend;

    async fn client(&self) -> tenure::Result<AnyBackend> {
        let proxy = Proxy::start(SERVER.address()).unwrap();
        let client = client(proxy.address(), "?session_timeout=3s&names=encoded").await;
        self.0.lock().unwrap().push(proxy);
        client
    }

    async fn lasting_client(&self) -> tenure::Result<AnyBackend> {
        client(SERVER.address(), "?session_timeout=10s&names=encoded").await
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }

    async fn abandon(&self, client: AnyBackend) {
        let shown = format!("{client:?}");
        let proxies = self.0.lock().unwrap();
        let its = |proxy: &&Proxy| shown.contains(&proxy.address().to_string());
        let proxy = proxies.iter().find(its).expect("the client's proxy");
        proxy.refuse().unwrap();
        proxy.cut().unwrap();
    }
}

tenure_testkit::contract_tests! { #[tokio::test] Latches::new() }
