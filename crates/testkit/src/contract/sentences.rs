//! The one list of all sentences.

/// Calls `$then!` with `$with` and every sentence of the contract, by area. The
/// list is here and nowhere else: a sentence that is missing fails the test of
/// this file, so a new one reaches every store.
#[doc(hidden)]
#[macro_export]
macro_rules! __contract_sentences {
    ($then:path, $with:tt) => {
        $then! { $with
            exclusion {
                a_second_bid_is_refused_and_told_who_owns,
                of_many_bids_at_once_exactly_one_wins,
                a_bid_under_the_owners_id_is_refused,
                of_bids_under_a_shared_id_one_owns,
                asking_again_answers_the_same_grant,
            }
            expiry {
                a_grant_is_exclusive_for_its_whole_lease,
                a_grant_that_is_not_renewed_is_free_after_its_lease,
                the_lease_ends_where_the_store_says,
                an_expired_grant_cannot_be_renewed,
                an_expired_grant_cannot_be_released,
                asking_again_does_not_lengthen_the_lease,
                asking_after_the_lease_is_a_new_grant,
            }
            transition {
                the_owner_may_renew_in_the_transition,
                others_are_refused_in_the_transition,
                a_renewal_in_the_transition_begins_a_whole_lease,
            }
            renewal {
                a_renewal_extends_and_keeps_token_and_start,
                a_renewal_with_another_token_is_refused,
                a_renewal_with_another_id_is_refused,
                a_renewal_with_another_nonce_is_refused,
                an_old_grant_is_not_renewed_under_the_same_id,
                an_empty_batch_has_no_answers,
                a_batch_answers_each_grant_in_order,
                a_batch_of_250_is_answered_whole,
            }
            release {
                a_release_frees_at_once,
                a_second_release_is_refused_and_harmless,
                a_release_with_another_token_is_refused,
                a_release_with_another_id_is_refused,
                a_release_with_another_nonce_is_refused,
                a_release_touches_no_other_name,
            }
            leave {
                leaving_undoes_a_win,
                leaving_under_a_shared_id_needs_a_nonce,
                leaving_undoes_only_its_own_bid,
                leaving_with_nothing_is_harmless,
                leaving_twice_is_harmless,
                leaving_undoes_a_place_in_the_queue,
            }
            fencing {
                tokens_rise_over_releases_and_clients,
                tokens_rise_over_an_expiry,
                tokens_rise_over_revocation_and_leaving,
                renewals_keep_the_token,
            }
            hints {
                a_waiter_is_told_after_a_release,
                the_head_of_a_queue_is_told_its_turn,
                an_observer_is_told_of_every_change_of_owner,
                a_candidate_is_told_after_a_release,
                a_dropped_stream_is_in_nobodys_way,
                hints_do_not_storm,
                hints_end_at_close,
            }
            names {
                names_that_look_alike_are_different,
                the_longest_names_are_kept_whole,
                names_of_punctuation_alone_are_names,
                ids_come_back_as_they_were_given,
                ids_that_look_alike_are_different,
            }
            order {
                waiters_are_served_in_the_order_of_arrival,
                nobody_overtakes_the_waiter_that_was_told,
                a_waiter_that_listens_no_more_is_skipped,
                a_waiter_that_queues_again_keeps_its_place,
                a_bid_that_does_not_queue_takes_no_place,
            }
            starvation {
                a_busy_client_does_not_starve_a_waiter,
                a_mutex_left_alone_goes_to_the_waiter,
            }
            abandonment {
                a_dead_owner_is_in_the_way_for_its_lease_only,
                a_dead_waiter_delays_nobody_longer_than_the_lease,
                a_stopped_waiter_delays_nobody_longer_than_the_lease,
            }
            ledger {
                the_first_claim_is_granted_and_read_back,
                ticks_only_rise,
                a_repeated_claim_shows_its_own_token,
                an_unfinished_tick_runs_again_under_a_larger_token,
                only_the_owner_claims,
                another_plan_is_refused_unless_it_replaces,
                a_plan_is_written_before_any_tick,
                a_plan_that_stands_is_not_written_again,
                a_plan_replaces_another_before_its_first_tick,
                the_end_of_a_tick_is_recorded,
                an_end_after_anothers_claim_is_refused,
                the_beginning_of_a_tick_is_recorded,
                a_tick_that_is_skipped_is_recorded,
            }
            ledgers {
                all_ledgers_are_listed_page_by_page,
                named_ledgers_are_looked_up,
            }
            revoke {
                a_revocation_frees_whoever_owns,
                a_revocation_by_token_frees_that_grant_only,
                revoking_a_free_mutex_is_refused,
                a_waiter_gets_what_was_revoked,
            }
            list {
                a_listing_tells_owner_and_token,
                a_listing_tells_what_an_owner_owns_for,
                pages_follow_each_other_in_the_order_of_names,
                a_listing_tells_who_waits,
                a_free_mutex_is_not_listed,
                named_mutexes_are_looked_up,
            }
            prune {
                tokens_rise_over_a_pruning,
                what_is_owned_survives_a_pruning,
                who_waits_survives_a_pruning,
                a_pruning_leaves_ledgers_alone,
                takers_and_prunings_do_not_meet,
            }
            owner {
                nobody_owns_an_unknown_name,
                an_owner_is_told_with_token_and_times,
                the_stores_time_goes_forward,
            }
            close {
                calls_after_close_fail_as_closed,
                closing_again_is_harmless,
                a_close_releases_nothing,
            }
            health {
                the_check_of_a_healthy_store_finds_nothing_bad,
            }
            cancellation {
                a_dropped_acquire_can_be_left,
                a_dropped_release_can_be_asked_for_again,
                a_dropped_renewal_harms_nothing,
            }
        }
    };
}

/// Makes one test of every sentence of the [contract](crate::contract), in one
/// module per area.
///
/// Give it the attribute that makes an async function a test, and an expression
/// for the [`Subject`](crate::contract::Subject), evaluated in each test.
///
/// ```
/// # struct Store;
/// # impl tenure_testkit::contract::Subject for Store {
/// #     type Backend = tenure::stores::memory::Memory;
/// #     async fn client(&self) -> tenure::Result<Self::Backend> { unimplemented!() }
/// #     fn clock(&self) -> tenure::clock::Clock { unimplemented!() }
/// # }
/// tenure_testkit::contract_tests! { #[tokio::test] Store }
/// ```
#[macro_export]
macro_rules! contract_tests {
    ($(#[$test:meta])+ $subject:expr) => {
        $crate::__contract_sentences! { $crate::__contract_modules, { [$(#[$test])+] ($subject) } }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract_modules {
    ($with:tt $($area:ident $sentences:tt)+) => {
        $(
            mod $area {
                #[allow(unused_imports)]
                use super::*;
                $crate::__contract_area! { $area $with $sentences }
            }
        )+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract_area {
    ($area:ident $with:tt { $($sentence:ident,)+ }) => {
        $( $crate::__contract_test! { $area $sentence $with } )+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract_test {
    ($area:ident $sentence:ident { [$($test:tt)+] ($subject:expr) }) => {
        $($test)+
        async fn $sentence() {
            $crate::contract::$area::$sentence(&$subject).await;
        }
    };
}

macro_rules! table {
    ({} $($area:ident { $($sentence:ident,)+ })+) => {
        /// Every sentence of the contract: area and name.
        pub const SENTENCES: &[(&str, &str)] =
            &[$($((stringify!($area), stringify!($sentence)),)+)+];
    };
}

__contract_sentences! { table, {} }

#[cfg(test)]
mod tests {
    use super::SENTENCES;

    #[test]
    fn no_sentence_is_missing_from_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/contract");
        let mut written = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let area = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter_map(|l| l.strip_prefix("pub async fn "));
            for line in lines {
                let name = line.split(['(', '<']).next().unwrap();
                written.push((area.clone(), name.to_owned()));
            }
        }
        let listed = SENTENCES
            .iter()
            .map(|(area, name)| ((*area).into(), (*name).into()));
        let mut listed: Vec<(String, String)> = listed.collect();
        written.sort();
        listed.sort();
        assert_eq!(written, listed);
    }
}
