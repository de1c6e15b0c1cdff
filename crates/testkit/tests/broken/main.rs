//! The suite can fail: each flaw below is caught by the sentence that names it.

use tenure_testkit::broken::{Broken, Flaw, Flawed};
use tenure_testkit::contract;

/// Runs a sentence over a flaw on paused time; what it panicked with.
fn failure(flaw: Flaw, sentence: impl AsyncFnOnce(&Flawed) + Send + 'static) -> Option<String> {
    let run = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async { sentence(&Flawed::new(flaw)).await });
    });
    let panic = run.join().err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
}

macro_rules! caught {
    ($($test:ident: $flaw:ident => $area:ident::$sentence:ident;)+) => {
        $(
            #[test]
            fn $test() {
                let run = |flaw| failure(flaw, async |subject: &Flawed| {
                    contract::$area::$sentence(subject).await;
                });
                let failed = run(Flaw::$flaw).expect("the flaw must be caught");
                assert!(failed.len() > 20, "and said clearly: {failed:?}");
                assert_eq!(run(Flaw::None), None, "without the flaw it passes");
            }
        )+
    };
}

caught! {
    two_winners_of_a_race_are_caught:
        TwoWinners => exclusion::of_many_bids_at_once_exactly_one_wins;
    an_acquire_that_renews_for_the_same_id_is_caught:
        AcquireRenews => exclusion::a_bid_under_the_owners_id_is_refused;
    a_grant_adopted_by_its_id_is_caught:
        AdoptsById => exclusion::of_bids_under_a_shared_id_one_owns;
    a_grant_adopted_by_the_id_of_its_twin_is_caught:
        AdoptsById => exclusion::a_bid_under_the_owners_id_is_refused;
    a_refusal_that_hides_the_owner_is_caught:
        HiddenOwner => exclusion::a_second_bid_is_refused_and_told_who_owns;
    a_new_grant_for_a_repeated_question_is_caught:
        ForgetsNonce => exclusion::asking_again_answers_the_same_grant;
    a_lease_lengthened_by_asking_again_is_caught:
        AskingLengthens => expiry::asking_again_does_not_lengthen_the_lease;
    a_lease_that_ends_early_is_caught:
        ShortLease => expiry::a_grant_is_exclusive_for_its_whole_lease;
    a_lease_that_does_not_end_is_caught:
        LongLease => expiry::a_grant_that_is_not_renewed_is_free_after_its_lease;
    a_renewal_that_takes_again_is_caught:
        RenewTakes => expiry::an_expired_grant_cannot_be_renewed;
    a_transition_without_renewal_is_caught:
        NoTransition => transition::the_owner_may_renew_in_the_transition;
    a_transition_open_to_all_is_caught:
        OpenTransition => transition::others_are_refused_in_the_transition;
    renewing_by_id_alone_is_caught:
        RenewById => renewal::an_old_grant_is_not_renewed_under_the_same_id;
    renewing_with_any_token_is_caught:
        RenewById => renewal::a_renewal_with_another_token_is_refused;
    renewing_with_any_nonce_is_caught:
        RenewById => renewal::a_renewal_with_another_nonce_is_refused;
    a_renewal_that_extends_nothing_is_caught:
        IdleRenewal => renewal::a_renewal_extends_and_keeps_token_and_start;
    answers_out_of_order_are_caught:
        BatchReversed => renewal::a_batch_answers_each_grant_in_order;
    a_batch_cut_short_is_caught:
        BatchCut => renewal::a_batch_of_250_is_answered_whole;
    releasing_with_any_token_is_caught:
        ReleaseAny => release::a_release_with_another_token_is_refused;
    releasing_under_any_id_is_caught:
        ReleaseAny => release::a_release_with_another_id_is_refused;
    a_second_release_that_says_won_is_caught:
        ReleaseAlwaysWon => release::a_second_release_is_refused_and_harmless;
    leaving_that_does_nothing_is_caught:
        IdleLeave => leave::leaving_undoes_a_win;
    leaving_that_keeps_the_place_is_caught:
        IdleLeave => leave::leaving_undoes_a_place_in_the_queue;
    leaving_by_id_alone_is_caught:
        LeaveById => leave::leaving_undoes_only_its_own_bid;
    a_token_that_repeats_after_a_release_is_caught:
        SameToken => fencing::tokens_rise_over_releases_and_clients;
    a_token_that_moves_with_a_renewal_is_caught:
        MovingToken => fencing::renewals_keep_the_token;
    a_silent_stream_is_caught:
        Silent => hints::a_waiter_is_told_after_a_release;
    an_observer_that_hears_nothing_is_caught:
        Silent => hints::an_observer_is_told_of_every_change_of_owner;
    a_storm_of_hints_is_caught:
        Storm => hints::hints_do_not_storm;
    names_without_case_are_caught:
        CaseBlind => names::names_that_look_alike_are_different;
    names_cut_short_are_caught:
        NamesCut => names::the_longest_names_are_kept_whole;
    a_queue_that_is_none_is_caught:
        NoQueue => order::waiters_are_served_in_the_order_of_arrival;
    overtaking_is_caught:
        Overtaking => order::nobody_overtakes_the_waiter_that_was_told;
    a_busy_client_that_takes_again_is_caught:
        Overtaking => starvation::a_busy_client_does_not_starve_a_waiter;
    a_score_that_keeps_no_place_is_caught:
        ForgetsScore => order::a_waiter_that_queues_again_keeps_its_place;
    revoking_with_any_token_is_caught:
        RevokeAny => revoke::a_revocation_by_token_frees_that_grant_only;
    claims_by_anybody_are_caught:
        ClaimAny => ledger::only_the_owner_claims;
    a_claim_that_always_succeeds_is_caught:
        ClaimAlways => ledger::ticks_only_rise;
    a_plan_that_starts_its_first_tick_is_caught:
        PlanClaims => ledger::a_plan_is_written_before_any_tick;
    an_end_that_always_succeeds_is_caught:
        FinishAlways => ledger::an_end_after_anothers_claim_is_refused;
    a_beginning_that_is_forgotten_is_caught:
        ForgetsBeginnings => ledger::the_beginning_of_a_tick_is_recorded;
    ledgers_out_of_order_are_caught:
        LedgersReversed => ledgers::all_ledgers_are_listed_page_by_page;
    an_unsorted_list_is_caught:
        ListReversed => list::pages_follow_each_other_in_the_order_of_names;
    a_list_of_what_was_is_caught:
        ListsFree => list::a_free_mutex_is_not_listed;
    a_page_of_names_that_tells_others_is_caught:
        ListsOthers => list::named_mutexes_are_looked_up;
    a_pruning_that_resets_tokens_is_caught:
        PruneResets => prune::tokens_rise_over_a_pruning;
    a_pruning_that_meets_takers_is_caught:
        PruneResets => prune::takers_and_prunings_do_not_meet;
    a_pruning_that_takes_what_is_owned_is_caught:
        PruneTakesOwned => prune::what_is_owned_survives_a_pruning;
    a_pruning_that_takes_ledgers_is_caught:
        PruneTakesLedgers => prune::a_pruning_leaves_ledgers_alone;
    a_close_that_closes_nothing_is_caught:
        IdleClose => close::calls_after_close_fail_as_closed;
    streams_that_outlive_the_close_are_caught:
        IdleClose => hints::hints_end_at_close;
}

#[test]
fn every_flaw_leaves_the_type_a_backend() {
    fn is_backend<B: tenure::backend::Backend>() {}
    is_backend::<Broken>();
}
