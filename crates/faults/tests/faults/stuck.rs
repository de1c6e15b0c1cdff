//! What does not go on after a fault is found, mutex by mutex and worker by worker.

use std::time::Duration;

use tenure_faults::progress::Progress;

use crate::bad::history;

fn seen(text: &str) -> Progress {
    let mut progress = Progress::default();
    history(text).iter().for_each(|event| progress.see(event));
    progress
}

const MENDED: Duration = Duration::from_secs(10);

#[test]
fn a_mutex_goes_on_when_it_went_from_one_turn_to_the_next() {
    let text = "
        1 w0 takes 5 2
        9 w1 takes 6 11
        11 w2 takes 7 12
        13 w2 runs 4 9 first begins";
    // One that was granted since may be owned for ever by who took what was left.
    assert_eq!(seen(text).still(&["m", "plan"], 2, MENDED), ["m", "plan"]);
    assert_eq!(seen(text).still(&["m", "plan"], 1, MENDED), [""; 0]);
    let text = format!("{text}\n14 w0 takes 8 15\n15 w2 runs 5 9 first begins");
    assert_eq!(seen(&text).still(&["m", "plan"], 2, MENDED), [""; 0]);
    assert_eq!(seen(&text).still(&["m", "other"], 2, MENDED), ["other"]);
}

#[test]
fn the_end_of_a_run_is_no_turn() {
    let text = "
        11 w0 runs 4 9 first begins
        11 w0 runs 4 9 first 12";
    assert_eq!(seen(text).still(&["plan"], 2, MENDED), ["plan"]);
}

#[test]
fn a_worker_that_asks_for_nothing_any_more_is_found() {
    let text = "
        9 w0.3 asks
        11 w1.4 asks
        12 w1.4 takes 5 13";
    assert_eq!(seen(text).silent(2, &["m"], MENDED), ["w0 at \"m\""]);
    let text = format!("{text}\n14 w0.5 asks");
    assert_eq!(seen(&text).silent(2, &["m"], MENDED), [""; 0]);
}

#[test]
fn who_was_granted_last_is_known_in_whatever_order_it_is_told() {
    let text = "
        9 w0.3 takes 5 10
        12 w1.4 takes 6 13";
    let mut progress = seen(text);
    assert_eq!(progress.owner("m", MENDED), Some("w1"));
    assert_eq!(progress.owner("m", Duration::from_secs(13)), None);
    assert_eq!(progress.owner("other", MENDED), None);
    // Told later, and older.
    let late = history("11 w2.0 takes 7 12");
    late.iter().for_each(|event| progress.see(event));
    assert_eq!(progress.owner("m", MENDED), Some("w1"));
}
