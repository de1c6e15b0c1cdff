//! `cargo xtask check-features`: the libraries must compile with no feature and with each alone.

use std::path::Path;
use std::{fs, io};

use crate::run;

/// The packages that others build with features of their choice, and where they are.
const PACKAGES: [(&str, &str); 2] = [("tenure", ""), ("tenure-axum", "crates/axum")];

/// Features that add something only beside another.
const TOGETHER: [(&str, &str); 3] = [
    ("redis-1", "redis"),
    ("sqlx-0_9", "mysql"),
    ("sqlx-0_9", "postgres"),
];

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
    for name in to_check(&manifest) {
        let (name, feature) = match name.as_str() {
            "" => ("no feature", None),
            name => (name, Some(name)),
        };
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

/// No feature, each alone, and those that belong together.
fn to_check(manifest: &str) -> Vec<String> {
    let alone = features(manifest);
    let pairs = TOGETHER.iter().filter(|(one, _)| alone.contains(one));
    let pairs = pairs.map(|(one, other)| format!("{one},{other}"));
    let all = std::iter::once(String::new()).chain(alone.iter().map(|name| (*name).to_owned()));
    all.chain(pairs).collect()
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
        let found = features(&manifest);
        assert!(found.contains(&"full"));
        for (one, other) in TOGETHER {
            assert!(
                found.contains(&one) && found.contains(&other),
                "{one},{other}"
            );
            assert!(to_check(&manifest).contains(&format!("{one},{other}")));
        }
    }
}
