//! Comments say who: the waiter, the owner, the server.

use std::fs;

use crate::{root, rust_files};

/// What stands for a person or a process without saying which.
const WHO: &[&str] = &[
    "nobody", "somebody", "anybody", "whoever", "anyone", "someone",
];

/// What is read.
const FOLDERS: &[&str] = &[
    "src",
    "crates/axum/src",
    "crates/bench/src",
    "crates/cli/src",
    "crates/dashboard/src",
    "crates/testkit/src",
    "xtask/src",
];

#[test]
fn comments_say_who() {
    let mut vague = Vec::new();
    for folder in FOLDERS {
        for file in rust_files(&root().join(folder)) {
            let source = fs::read_to_string(&file).unwrap();
            for (number, line) in (1..).zip(source.lines()) {
                for word in unclear(line) {
                    vague.push(format!("{}:{number}: who is {word:?}?", file.display()));
                }
            }
        }
    }
    assert!(vague.is_empty(), "{}", vague.join("\n"));
}

/// The words of the comment in `line` that do not say who.
fn unclear(line: &str) -> Vec<&'static str> {
    let comment = line.split_once("//").map_or("", |(_, comment)| comment);
    let comment = comment.to_lowercase();
    let words: Vec<&str> = comment.split(|c: char| !c.is_alphabetic()).collect();
    let is_there = |word: &&&str| words.contains(*word);
    WHO.iter().filter(is_there).copied().collect()
}

#[test]
fn only_comments_are_read() {
    assert_eq!(
        unclear("/// Whoever waits, somebody's."),
        ["somebody", "whoever"]
    );
    assert!(unclear("let nobody = 1; // The owner").is_empty());
}
