//! The bugs of the past: that they can still be put back, and say what they were.

use std::path::Path;
use std::process::Command;

use tenure_faults::topology::ALL;
use tenure_faults::undone::{ANY, Undone, all, patches};

#[test]
fn every_bug_says_what_it_was_and_where_it_shows() {
    let bugs = all().unwrap();
    assert!(bugs.len() >= 8, "{bugs:?}");
    for bug in bugs {
        assert!(ALL.contains(&bug.store.as_str()), "{bug:?}");
        assert!(
            bug.bug.len() > 60 && bug.bug.ends_with('.'),
            "{}: {}",
            bug.name,
            bug.bug
        );
        assert!(!bug.mended_by.is_empty(), "{bug:?}");
        let faults: Vec<_> = bug.faults.split(';').map(str::trim).collect();
        assert!(faults == [ANY] || !faults.contains(&ANY), "{bug:?}");
    }
}

#[test]
fn a_head_that_is_not_whole_is_refused() {
    let head = "Bug: b\nMended by: m\nStore: redis\nFaults: any\nSeed: 7\n";
    let patch = |head: &str| format!("{head}\ndiff --git a/x b/x\n");
    assert!(Undone::parse("x", &patch(head)).is_ok());
    assert!(Undone::parse("x", head).is_err(), "no patch");
    for line in head.lines() {
        let without = head.replace(&format!("{line}\n"), "");
        assert!(Undone::parse("x", &patch(&without)).is_err(), "{line}");
    }
}

/// Where the rule has moved, its patch moves with it, or the bug is hunted for no more.
#[test]
fn every_patch_applies_to_the_code_of_today() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let patches = patches().unwrap();
    // All at once, as they are applied.
    let mut git = Command::new("git");
    git.args(["apply", "--check"])
        .args(&patches)
        .current_dir(root);
    let output = git.output().unwrap();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
}
