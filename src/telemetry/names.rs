//! The names of all metrics, by the conventions of Prometheus, and what they
//! tell. The kind comes first in each constant; `docs/operations.md` lists them,
//! and `tests/architecture` compares.

pub(super) const GAUGE_HELD: &str = "tenure_held";
pub(super) const GAUGE_LEADING: &str = "tenure_leading";
pub(super) const GAUGE_WAITING: &str = "tenure_waiting";
pub(super) const COUNTER_ACQUISITIONS: &str = "tenure_acquisitions_total";
pub(super) const COUNTER_HAND_OVERS: &str = "tenure_hand_overs_total";
pub(super) const COUNTER_LOSSES: &str = "tenure_losses_total";
pub(super) const HISTOGRAM_WAIT: &str = "tenure_wait_seconds";
pub(super) const HISTOGRAM_HOLD: &str = "tenure_hold_seconds";
pub(super) const COUNTER_RENEWALS: &str = "tenure_renewals_total";
pub(super) const COUNTER_RENEWAL_FAILURES: &str = "tenure_renewal_failures_total";
pub(super) const HISTOGRAM_CALL: &str = "tenure_store_call_seconds";
pub(super) const COUNTER_CALL_ERRORS: &str = "tenure_store_errors_total";
pub(super) const GAUGE_TROUBLED: &str = "tenure_stores_in_trouble";
pub(super) const COUNTER_RUNS: &str = "tenure_schedule_runs_total";
pub(super) const COUNTER_SKIPPED: &str = "tenure_schedule_skipped_total";
pub(super) const HISTOGRAM_LATE: &str = "tenure_schedule_late_seconds";
pub(super) const HISTOGRAM_RUN: &str = "tenure_schedule_run_seconds";
pub(super) const GAUGE_LAST_SUCCESS: &str = "tenure_schedule_last_success_timestamp_seconds";

/// What a reader of `/metrics` is told beside each.
pub(super) fn describe() {
    use metrics::describe_histogram as histogram;
    use metrics::{describe_counter as counter, describe_gauge as gauge};

    gauge!(GAUGE_HELD, "How many tenures of a mutex this process has.");
    gauge!(
        GAUGE_LEADING,
        "1 while this process has the office; of other, how many it has."
    );
    gauge!(GAUGE_WAITING, "How many of this process wait for a mutex.");
    counter!(
        COUNTER_ACQUISITIONS,
        "How often a mutex was won, hand-overs included."
    );
    counter!(
        COUNTER_HAND_OVERS,
        "How often a lock went from task to task without the store."
    );
    counter!(
        COUNTER_LOSSES,
        "Tenures that ended against the wish of their holder."
    );
    histogram!(
        HISTOGRAM_WAIT,
        "How long a mutex was waited for until it was won."
    );
    histogram!(
        HISTOGRAM_HOLD,
        "How long this process owned a mutex, from grant to end."
    );
    counter!(COUNTER_RENEWALS, "Leases that were renewed.");
    counter!(
        COUNTER_RENEWAL_FAILURES,
        "Renewals that failed; each is tried again."
    );
    histogram!(
        HISTOGRAM_CALL,
        "How long the store took to answer, failures included."
    );
    counter!(COUNTER_CALL_ERRORS, "Calls to the store that failed.");
    gauge!(
        GAUGE_TROUBLED,
        "How many coordinators try again what failed at their store."
    );
    counter!(COUNTER_RUNS, "Runs of a schedule that have ended.");
    counter!(
        COUNTER_SKIPPED,
        "Ticks that were left out because they were late."
    );
    histogram!(HISTOGRAM_LATE, "How late a run began.");
    histogram!(HISTOGRAM_RUN, "How long a run took.");
    gauge!(
        GAUGE_LAST_SUCCESS,
        "When the last run ended that is known to have ended well, in seconds since 1970."
    );
}
