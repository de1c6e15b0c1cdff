//! The test targets and examples of the workspace, read from its directories.
//!
//! Looking at the tree instead of keeping a list means that a new test binary is never forgotten.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// Names of the integration tests of all packages.
    pub(crate) tests: BTreeSet<String>,
    /// Names of the root package's examples.
    pub(crate) examples: BTreeSet<String>,
}

impl Targets {
    pub(crate) fn find(root: &Path) -> Self {
        let mut targets = Self::default();
        let mut packages = vec![root.to_path_buf(), root.join("xtask")];
        for members in ["crates", "examples"] {
            packages.extend(entries(&root.join(members)));
        }
        for package in packages.iter().filter(|p| p.join("Cargo.toml").is_file()) {
            targets.tests.append(&mut names(&package.join("tests")));
        }
        targets.examples = names(&root.join("examples"));
        targets
    }
}

/// `NAME.rs` and `NAME/main.rs`, as cargo discovers them. A directory with a manifest is a package
/// of its own.
fn names(dir: &Path) -> BTreeSet<String> {
    let is_target = |path: &Path| {
        path.extension().is_some_and(|e| e == "rs") && path.is_file()
            || path.join("main.rs").is_file() && !path.join("Cargo.toml").exists()
    };
    entries(dir)
        .into_iter()
        .filter(|path| is_target(path))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}

/// What is in a directory; nothing if there is no such directory.
fn entries(dir: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(dir).map_or_else(|_| Vec::new(), |d| d.flatten().map(|e| e.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn targets_of_all_packages_are_found() {
        let root = Scratch::new("targets");
        for file in [
            "Cargo.toml",
            "tests/architecture.rs",
            "tests/engine/main.rs",
            "tests/engine/release.rs",
            "tests/common/mod.rs",
            "tests/data.txt",
            "crates/testkit/Cargo.toml",
            "crates/testkit/tests/servers/main.rs",
            "crates/notes/tests/not_a_package.rs",
            "examples/lock.rs",
            "examples/custom-backend/Cargo.toml",
            "examples/custom-backend/main.rs",
            "examples/custom-backend/tests/contract.rs",
        ] {
            root.write(file, "");
        }
        let found = Targets::find(root.path());
        let tests: Vec<_> = found.tests.iter().map(String::as_str).collect();
        assert_eq!(tests, ["architecture", "contract", "engine", "servers"]);
        assert_eq!(found.examples.into_iter().collect::<Vec<_>>(), ["lock"]);
    }

    #[test]
    fn an_empty_tree_has_no_targets() {
        let root = Scratch::new("no-targets");
        assert_eq!(Targets::find(root.path()), Targets::default());
    }
}
