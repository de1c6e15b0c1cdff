//! Every sentence, told by inotify and by looking now and then.

mod told {
    use crate::support::Place;

    tenure_testkit::contract_tests! { #[tokio::test] Place::new() }
}

mod polled {
    use crate::support::Place;

    tenure_testkit::contract_tests! { #[tokio::test] Place::with("?wake=poll") }
}
