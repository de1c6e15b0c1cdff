//! A name stands for one thing, and says which.

use std::collections::BTreeMap;
use std::fs;

use proc_macro2::{TokenStream, TokenTree};

use crate::{root, rust_files};

/// Folders that a reader has in mind together: in each group a name stands for
/// one thing. Across groups it may stand for two, where they are the same in
/// their groups: every store has a `Client`, `blocking` has the names of what it
/// wraps.
const GROUPS: &[&[&str]] = &[
    // From a call down to the backend.
    &["engine", "leader", "lock", "queue", "schedule", "service"],
    &["blocking"],
    &["combination", "stores/combination"],
    &["coordinator"],
    &["clock"],
    &["stores/kit", "stores/memory"],
    &["stores/kit", "stores/sql", "stores/mysql"],
    &["stores/kit", "stores/sql", "stores/postgres"],
    &["stores/kit", "stores/redis"],
    &["stores/kit", "stores/sqlite"],
    &["stores/kit", "stores/zookeeper"],
];

/// What could be the name of anything, or needs a key to be read.
const VAGUE: &[&str] = &[
    "Bell", "Book", "Boot", "Clerk", "Core", "Data", "Dice", "Estate", "Ground", "Helper", "Impl",
    "Info", "Inner", "Kin", "Lane", "Line", "Link", "Lookout", "Manager", "Once", "Plan", "Push",
    "Reading", "Scale", "Seat", "Shared", "Stage", "State", "Term", "Troupe", "Watch",
];

/// The arguments of a command are called what the command is called.
const COMMANDS: &str = "crates/cli/src/args.rs";

#[test]
fn every_type_has_a_name_of_its_own_among_those_around_it() {
    for group in GROUPS {
        let mut homes = BTreeMap::new();
        for folder in *group {
            for file in rust_files(&root().join("src").join(folder)) {
                if file.iter().any(|part| part == "tests") {
                    continue;
                }
                let source = fs::read_to_string(&file).unwrap();
                for name in types(source.parse().expect("the file is Rust")) {
                    let file = file.display().to_string();
                    if let Some(before) = homes.insert(name.clone(), file.clone()) {
                        panic!("{name} is one thing in {before} and another in {file}");
                    }
                }
            }
        }
        assert!(!homes.is_empty(), "{group:?} has types");
    }
}

#[test]
fn no_type_has_a_name_that_any_other_could_have() {
    let folders = ["src", "crates", "tests"];
    for file in folders
        .map(|folder| rust_files(&root().join(folder)))
        .concat()
    {
        if file.ends_with(COMMANDS) {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        for name in types(source.parse().expect("the file is Rust")) {
            let file = file.display();
            assert!(!VAGUE.contains(&name.as_str()), "{file}: what is a {name}?");
        }
    }
}

#[test]
fn no_file_has_a_name_that_any_other_could_have() {
    let folders = ["src", "crates", "tests"];
    for file in folders
        .map(|folder| rust_files(&root().join(folder)))
        .concat()
    {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        // What a command does, how often, or prints, is a good name for its file.
        let is_vague =
            |word: &&str| word.to_lowercase() == stem && !["data", "once", "watch"].contains(&stem);
        let of_model = file.ends_with("model/state.rs") || file.ends_with("ledger/line.rs");
        let file = file.display();
        assert!(
            of_model || !VAGUE.iter().any(is_vague),
            "{file}: what is that?"
        );
    }
}

/// The `mod.rs` with code: of the one thing that its folder is named after.
const MODS: &[&str] = &[
    // The seams: their documentation is the contract of the trait.
    "backend/mod.rs",
    "backend/ledger/mod.rs",
    "backend/url/mod.rs",
    // `stores::open` and its kin, over what the cargo features compile in.
    "stores/mod.rs",
];

#[test]
fn a_mod_rs_holds_documentation_and_re_exports() {
    let src = root().join("src");
    for file in rust_files(&src) {
        let path = file.strip_prefix(&src).unwrap().to_str().unwrap();
        if !path.ends_with("mod.rs") || path.contains("tests/") {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        let is_code = |line: &str| {
            let line = line.trim_start_matches("pub ").trim_start_matches("async ");
            let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
            let words = ["struct ", "enum ", "trait ", "impl ", "impl<", "fn "];
            words.iter().any(|word| line.starts_with(word))
        };
        let has_code = source.lines().any(is_code);
        let may = MODS.contains(&path);
        assert_eq!(
            has_code, may,
            "{path}: code has a file that is named after it"
        );
    }
}

#[test]
fn every_store_is_in_a_group() {
    for entry in fs::read_dir(root().join("src/stores")).unwrap() {
        let entry = entry.unwrap();
        let name = format!("stores/{}", entry.file_name().to_str().unwrap());
        let is_in_one = GROUPS.iter().any(|group| group.contains(&name.as_str()));
        assert!(is_in_one || entry.path().is_file(), "add {name} to a group");
    }
}

/// The structs, enums and traits that `tokens` define outside of any braces.
fn types(tokens: TokenStream) -> Vec<String> {
    let words: Vec<String> = tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) => ident.to_string(),
            _ => String::new(),
        })
        .collect();
    let defined = words.windows(2).filter_map(|pair| {
        let is_type = matches!(pair[0].as_str(), "struct" | "enum" | "trait" | "type");
        (is_type && !pair[1].is_empty()).then(|| pair[1].clone())
    });
    defined.collect()
}

#[test]
fn types_are_found() {
    let source = "pub(crate) struct A; enum B {} impl X for A { type Item = u8; } type C = u8;";
    assert_eq!(types(source.parse().unwrap()), ["A", "B", "C"]);
}
