//! Locks that linger.

use tenure_testkit::every_store::linger;

use crate::support::TestFile;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_elsewhere_does_not_wait_for_the_lease() {
    let file = TestFile::new();
    linger::a_waiter_elsewhere_does_not_wait_for_the_lease(&file.url(), "m").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_lingering_is_an_owner_that_died() {
    let file = TestFile::new();
    linger::a_process_that_dies_lingering_is_an_owner_that_died(&file.url(), "m").await;
}
