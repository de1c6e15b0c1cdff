//! What the pages name is there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// Where the files are that pages speak of.
const FOLDERS: &[&str] = &[
    "crates/",
    "deploy/",
    "docs/",
    "examples/",
    "src/",
    "tests/",
    "xtask/",
];

/// Shown as the form of a name, not as a name.
const FORMS: &[&str] = &["docs/decisions/NNNN-title.md"];

#[test]
fn the_pages_name_only_files_and_tests_that_are_there() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for name in named(&text) {
            if let Some(why) = missing(&name) {
                wrong.push(format!("{}: `{name}`: {why}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands between backticks in `text` and is a path of ours. `…::test` is of
/// the file that was named before it in the line.
fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut file = "";
        // Every second piece is between two of them.
        for name in line.split('`').skip(1).step_by(2) {
            let further = name.strip_prefix("…::").or(name.strip_prefix("::"));
            match further.filter(|_| !file.is_empty()) {
                Some(test) if !test.contains('…') => found.push(format!("{file}::{test}")),
                None if is_ours(name) => {
                    file = name.split_once("::").map_or(name, |(file, _)| file);
                    found.push(name.to_owned());
                }
                _ => {}
            }
        }
    }
    found
}

fn is_ours(name: &str) -> bool {
    let is_ours = FOLDERS.iter().any(|folder| name.starts_with(folder));
    is_ours && !name.contains([' ', '*', '{', '<', '…']) && !FORMS.contains(&name)
}

/// Why `path` or `path::test` is not there.
fn missing(name: &str) -> Option<&'static str> {
    let (path, test) = name.split_once("::").unwrap_or((name, ""));
    let path = root().join(path);
    if !path.exists() {
        return Some("no such file");
    }
    let test = test.rsplit("::").next().unwrap_or_default();
    if test.is_empty() {
        return None;
    }
    let source = fs::read_to_string(path).unwrap_or_default();
    let is_there = source.contains(&format!("{test}("));
    (!is_there).then_some("no such test in it")
}

/// All pages, without the change log.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs", "src/docs"] {
        pages.extend(below(&root().join(folder)));
    }
    pages
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages.extend(below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

#[test]
fn what_is_named_is_found_in_a_text() {
    let text = "See `tests/a.rs::b`, `…::c` and `src/x`, not `tests/*` or `let x`.\n`docs/y.md`";
    let found = named(text);
    let expected = ["tests/a.rs::b", "tests/a.rs::c", "src/x", "docs/y.md"];
    assert_eq!(found, expected);
    assert_eq!(missing("src/lib.rs"), None);
    assert!(missing("src/nowhere.rs").is_some());
    assert!(missing("tests/architecture/pages.rs::nothing").is_some());
}
