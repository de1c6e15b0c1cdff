//! Comments say who: the waiter, the owner, the server.

use std::fs;

use crate::{root, rust_files};

/// What stands for a person or a process without saying which.
const WHO: &[&str] = &[
    "nobody", "somebody", "anybody", "whoever", "anyone", "someone",
];

#[test]
fn comments_say_who() {
    let mut vague = Vec::new();
    for folder in ["src", "crates", "examples", "xtask"] {
        for file in rust_files(&root().join(folder)) {
            if file.iter().any(|part| part == "tests") {
                continue;
            }
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
    // A URL has slashes as well, but no space before them.
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    if !code.is_empty() && !code.ends_with(' ') {
        return Vec::new();
    }
    let comment = comment.to_lowercase();
    let words: Vec<&str> = comment.split(|c: char| !c.is_alphabetic()).collect();
    let is_there = |word: &&&str| words.contains(*word);
    WHO.iter().filter(is_there).copied().collect()
}

#[test]
fn only_comments_are_read() {
    let comment = "    /// Whoever waits, somebody's.";
    assert_eq!(unclear(comment), ["somebody", "whoever"]);
    for code in ["let nobody = 1; // The owner", "\"redis://nobody@host\""] {
        assert!(unclear(code).is_empty(), "{code}");
    }
}
