//! Every sentence, and those about waking once more for who is not told.

mod told {
    use crate::support::TestFile;

    tenure_testkit::contract_tests! { #[tokio::test] TestFile::new() }
}

/// `wake=poll` differs only in how a waiter hears.
mod polled {
    use tenure_testkit::contract::{abandonment, close, hints, revoke, starvation};

    use crate::support::TestFile;

    macro_rules! sentences {
        ($($of:ident::$sentence:ident)*) => {
            $(#[tokio::test]
            async fn $sentence() {
                $of::$sentence(&TestFile::with("?wake=poll")).await;
            })*
        };
    }

    sentences! {
        abandonment::a_dead_waiter_delays_nobody_longer_than_the_lease
        close::calls_after_close_fail_as_closed
        hints::a_candidate_is_told_after_a_release
        hints::a_dropped_stream_is_in_nobodys_way
        hints::a_waiter_is_told_after_a_release
        hints::an_observer_is_told_of_every_change_of_owner
        hints::hints_do_not_storm
        hints::hints_end_at_close
        revoke::a_waiter_gets_what_was_revoked
        starvation::a_mutex_left_alone_goes_to_the_waiter
    }
}
