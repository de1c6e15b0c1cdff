//! Locks that linger.

use tenure_testkit::every_store::linger;

use crate::support::{fresh, shared, url};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_elsewhere_does_not_wait_for_the_lease() {
    let (url, name) = (url(shared()), fresh("linger"));
    linger::a_waiter_elsewhere_does_not_wait_for_the_lease(&url, name.as_str()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_lingering_is_an_owner_that_died() {
    let (url, name) = (url(shared()), fresh("linger"));
    linger::a_process_that_dies_lingering_is_an_owner_that_died(&url, name.as_str()).await;
}
