//! `tenure demo`: the first command of the README.

use std::time::{Duration, Instant};

use super::support::{Home, text};

#[test]
fn the_demo_ends_well_within_its_time() {
    let home = Home::new();
    let start = Instant::now();
    let output = home.output(["demo"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(start.elapsed() < Duration::from_secs(30));
    for part in [
        "SIGKILL",
        "takes over",
        "REFUSES",
        "SIGSTOP",
        "resigns",
        "ok  the late write",
    ] {
        assert!(out.contains(part), "{part} is missing:\n{out}");
    }
    assert!(!out.contains('\x1b'), "plain lines when nobody watches");
    assert!(
        !home.path("tenure").exists(),
        "it leaves the user's own store alone"
    );
}
