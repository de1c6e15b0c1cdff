//! Comments and pages say who: the waiter, the owner, the server.

use std::fs;

use crate::pages::pages;
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

#[test]
fn pages_say_who() {
    let mut vague = Vec::new();
    for page in pages() {
        // A decision is kept as it was written.
        if page.iter().any(|part| part == "decisions") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            for word in vague_words(&prose(line)) {
                vague.push(format!("{}:{number}: who is {word:?}?", page.display()));
            }
        }
    }
    assert!(vague.is_empty(), "{}", vague.join("\n"));
}

/// What `line` of a page says in its own words: names in backticks and the
/// targets of links are others'.
fn prose(line: &str) -> String {
    let spoken: String = line.split('`').step_by(2).collect();
    let mut links = spoken.split("](");
    let first = links.next().unwrap_or_default().to_owned();
    links.fold(first, |text, link| {
        text + link.split_once(')').map_or("", |(_, rest)| rest)
    })
}

/// The words of the comment in `line` that do not say who.
fn unclear(line: &str) -> Vec<&'static str> {
    // A URL has slashes as well, but no space before them.
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    if !code.is_empty() && !code.ends_with(' ') {
        return Vec::new();
    }
    vague_words(comment)
}

fn vague_words(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
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

#[test]
fn only_what_a_page_says_itself_is_read() {
    let line = "Nobody, not `nobody_else`, see [decision 22](0022-what-nobody-picks-up.md), anyone";
    assert_eq!(vague_words(&prose(line)), ["nobody", "anyone"]);
    assert!(vague_words(&prose("`somebody` [x](anybody.md)")).is_empty());
}
