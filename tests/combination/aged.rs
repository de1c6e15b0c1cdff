//! What mostly waits, side by side.

use tokio::task::JoinSet;

use super::{holds, renewal, restart, sequences, stress};

/// Runs scenarios at once, each as a task; a failure names its own.
macro_rules! side_by_side {
    ($($module:ident::$scenario:ident),* $(,)?) => {{
        let mut all = JoinSet::new();
        $(all.spawn(async {
            let ran = tokio::spawn($module::$scenario()).await;
            (stringify!($scenario), ran.is_ok())
        });)*
        all
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_takes_its_time() {
    let all = side_by_side![
        holds::a_node_that_comes_back_shows_the_count_too,
        renewal::a_hold_survives_a_rolling_restart_of_empty_nodes,
        renewal::a_hold_survives_the_death_of_one_node,
        renewal::a_hold_that_a_quorum_has_forgotten_is_lost_at_once,
        restart::a_node_that_restarted_empty_does_not_count,
        restart::nodes_that_have_just_started_count_one_expiry_later,
        sequences::one_more_time_with_just_enough_nodes,
        stress::never_two_at_once_while_the_first_node_dies_and_returns,
    ];
    let failed: Vec<_> = all
        .join_all()
        .await
        .into_iter()
        .filter(|(_, ok)| !ok)
        .collect();
    assert!(failed.is_empty(), "{failed:?}: see the panics above");
}
