//! What is deployed beside a program: Prometheus takes the alert rules, and
//! they fire when they should. `tests/architecture/telemetry.rs` compares their
//! metrics with those of the source.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

/// What promtool says, if it is content.
fn promtool(words: &[&str]) -> String {
    let output = Command::new("promtool")
        .args(words)
        .current_dir(folder())
        .output();
    let output = output.expect("promtool is installed (Debian: prometheus)");
    let said = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    let said = said.concat();
    assert!(output.status.success(), "promtool {words:?}:\n{said}");
    said
}

#[test]
fn prometheus_takes_the_rules() {
    let rules = fs::read_to_string(folder().join("alerts.yml")).unwrap();
    let count = rules.matches("- alert: ").count();
    let said = promtool(&["check", "rules", "alerts.yml"]);
    assert!(said.contains(&format!("{count} rules found")), "{said}");
}

#[test]
fn every_alert_fires_when_it_should_and_only_then() {
    promtool(&["test", "rules", "alerts_test.yml"]);
    // Each is tried where it fires and where it does not.
    let rules = fs::read_to_string(folder().join("alerts.yml")).unwrap();
    let tests = fs::read_to_string(folder().join("alerts_test.yml")).unwrap();
    for rule in rules.split("- alert: ").skip(1) {
        let alert = rule.lines().next().unwrap();
        let named = format!("alertname: {alert}\n");
        let mut tried = [0, 0];
        for test in tests.split(&named).skip(1) {
            let fires = test.trim_start().starts_with("exp_alerts:");
            tried[usize::from(fires)] += 1;
        }
        assert!(tried.iter().all(|count| *count > 0), "{alert}: {tried:?}");
    }
}
