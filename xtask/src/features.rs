//! `cargo xtask check-features`: the libraries must compile with no feature and with each alone.

use std::path::Path;
use std::{fs, io};

use crate::run;

/// The packages that others build with features of their choice, and where they are.
const PACKAGES: [(&str, &str); 2] = [("tenure", ""), ("tenure-axum", "crates/axum")];

/// Runs all checks, even after one has failed; returns what failed.
///
/// # Errors
///
/// When the manifest cannot be read or cargo cannot be started.
pub(crate) fn check(root: &Path) -> io::Result<Vec<String>> {
    let mut failed = Vec::new();
    for (package, place) in PACKAGES {
        check_package(root, package, &root.join(place), &mut failed)?;
    }
    Ok(failed)
}

fn check_package(
    root: &Path,
    package: &str,
    place: &Path,
    failed: &mut Vec<String>,
) -> io::Result<()> {
    let manifest = fs::read_to_string(place.join("Cargo.toml"))?;
    for feature in std::iter::once(None).chain(features(&manifest).into_iter().map(Some)) {
        let name = feature.unwrap_or("no feature");
        println!("check-features: {package}, {name}");
        let mut cargo = run::cargo(root);
        cargo.args([
            "check",
            "--quiet",
            "--package",
            package,
            "--lib",
            "--no-default-features",
        ]);
        if let Some(feature) = feature {
            cargo.args(["--features", feature]);
        }
        if !cargo.status()?.success() {
            failed.push(format!("{package}, {name}"));
        }
    }
    Ok(())
}

/// The keys of `[features]`, without `default`, which only names others. Reads the manifest as this
/// repository writes it: one key at the start of a line, values that may span lines.
fn features(manifest: &str) -> Vec<&str> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[features]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with([' ', '\t', '#', ']']))
        .filter_map(|line| line.split_once('='))
        .map(|(key, _)| key.trim().trim_matches('"'))
        .filter(|key| *key != "default")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_in_order_without_default() {
        let manifest = "\
[package]
name = \"tenure\"

[features]
default = []
# Every store = everything.
full = [
    \"serde\",
    \"redis\", # a = b
]

serde = [\"dep:serde\"]
\"redis-tls\" = []

[dependencies]
fastrand = \"2.3\"
";
        assert_eq!(features(manifest), ["full", "serde", "redis-tls"]);
    }

    #[test]
    fn a_manifest_without_features_has_none() {
        assert!(features("[package]\nname = \"x\"\n").is_empty());
    }

    #[test]
    fn the_features_of_this_repository_are_found() {
        let manifest = fs::read_to_string(run::root().join("Cargo.toml")).expect("a manifest");
        assert!(features(&manifest).contains(&"full"));
    }
}
