//! One server for all tests, and clients of it.

use std::sync::LazyLock;

use tenure::backend::AnyBackend;
use tenure::clock::Clock;
use tenure::stores;
use tenure_testkit::servers::Postgres;

/// The server that tests share which do not break it.
pub(crate) static SERVER: LazyLock<Postgres> =
    LazyLock::new(|| Postgres::start().unwrap_or_else(|error| panic!("{error}")));

pub(crate) async fn client(url: &str) -> tenure::Result<AnyBackend> {
    stores::open(&url.parse()?, Clock::boot()).await
}
