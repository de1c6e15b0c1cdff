//! Many processes want the same.

use std::fs;

use super::support::Home;

/// Each run reads a number and writes the next one, with no lock of its own.
#[test]
fn eight_processes_lose_no_increment() {
    const PROCESSES: usize = 8;
    const RUNS: usize = 50;
    let home = Home::new();
    fs::write(home.path("count"), "0\n").unwrap();
    let script = format!(
        "for i in $(seq {RUNS}); do \
           \"$TENURE\" run m -- sh -c 'read n < count; echo $((n + 1)) > count; \
           echo $TENURE_TOKEN >> tokens' || exit; \
         done"
    );
    let start = || {
        let mut shell = home.command("sh");
        shell.args(["-c", &script]).spawn().unwrap()
    };
    let mut shells: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    for shell in &mut shells {
        assert_eq!(shell.wait().unwrap().code(), Some(0));
    }
    let count = fs::read_to_string(home.path("count")).unwrap();
    assert_eq!(count.trim(), (PROCESSES * RUNS).to_string());
    let tokens = fs::read_to_string(home.path("tokens")).unwrap();
    let tokens: Vec<u64> = tokens.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(tokens.len(), PROCESSES * RUNS);
    assert!(
        tokens.is_sorted_by(|a, b| a < b),
        "in the order of the runs"
    );
}
