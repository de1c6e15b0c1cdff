//! Every sentence, over the store alone and with its type forgotten.

mod bare {
    use crate::memory::Bare;

    tenure_testkit::contract_tests! { #[tokio::test(start_paused = true)] Bare::new() }
}

mod wrapped {
    use crate::memory::Wrapped;

    tenure_testkit::contract_tests! { #[tokio::test(start_paused = true)] Wrapped::new() }
}
