//! A name stands for one thing, and says which.

use std::collections::BTreeMap;
use std::fs;

use proc_macro2::{TokenStream, TokenTree};

use crate::{root, rust_files};

/// Where a reader goes from a call down to the backend.
const FOLDERS: &[&str] = &["engine", "leader", "lock", "queue", "schedule", "service"];

/// What could be the name of anything.
const VAGUE: &[&str] = &[
    "Book", "Core", "Data", "Helper", "Impl", "Info", "Inner", "Manager", "Shared",
];

#[test]
fn every_type_on_the_way_down_has_a_name_of_its_own() {
    let mut homes = BTreeMap::new();
    for folder in FOLDERS {
        for file in rust_files(&root().join("src").join(folder)) {
            if file.iter().any(|part| part == "tests") {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap();
            for name in types(source.parse().expect("the file is Rust")) {
                let file = file.display().to_string();
                assert!(!VAGUE.contains(&name.as_str()), "{file}: what is a {name}?");
                if let Some(before) = homes.insert(name.clone(), file.clone()) {
                    panic!("{name} is one thing in {before} and another in {file}");
                }
            }
        }
    }
    assert!(homes.contains_key("Lock") && homes.contains_key("Acquisition"));
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
