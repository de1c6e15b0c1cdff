//! Imports go one way, every folder has its place, every type has a name of its
//! own, no file is too long, every future says what dropping it does, comments
//! say who, and the pages name what is there.

mod names;
mod pages;
mod rules;
mod stores;
mod telemetry;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Which top-level module may use which; what those may use, it may use too.
const ARROWS: &[(&str, &[&str])] = &[
    ("blocking", &["combination", "coordinator"]),
    ("combination", &["lock", "stores"]),
    (
        "coordinator",
        &["lock", "leader", "schedule", "service", "stores"],
    ),
    ("lock", &["engine", "queue"]),
    ("leader", &["engine"]),
    ("schedule", &["engine"]),
    ("service", &["engine"]),
    // A thing of its own.
    ("queue", &[]),
    ("engine", &["backend"]),
    ("stores", &["backend"]),
    ("backend", &["clock", "telemetry"]),
    ("telemetry", &["error", "model", "sync"]),
    ("clock", &["model", "sync"]),
    ("error", &["model"]),
    ("model", &["error"]),
    ("sync", &[]),
];

const LONGEST_FILE: usize = 500;

#[test]
fn imports_go_one_way() {
    let src = root().join("src");
    let mut wrong = Vec::new();
    for file in rust_files(&src) {
        let module = module_of(file.strip_prefix(&src).unwrap());
        if module.iter().any(|part| part == "tests") {
            continue; // The simulation plays a store: it may know one.
        }
        let source = fs::read_to_string(&file).unwrap();
        for violation in violations(&module, &source) {
            wrong.push(format!("{}: {violation}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_top_level_module_has_a_rule() {
    let src = root().join("src");
    for file in rust_files(&src) {
        let module = module_of(file.strip_prefix(&src).unwrap());
        if let Some(top) = module.first() {
            assert!(reach(top).is_some(), "add {top:?} to the table of arrows");
        }
    }
    for (name, _) in ARROWS {
        let is_there = ["", ".rs"].map(|end| src.join(format!("{name}{end}")).exists());
        assert!(is_there.contains(&true), "there is no module {name:?}");
    }
}

#[test]
fn no_file_is_too_long() {
    for folder in ["src", "tests", "crates", "xtask", "examples"] {
        for file in rust_files(&root().join(folder)) {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            let file = file.display();
            assert!(lines <= LONGEST_FILE, "{file} has {lines} lines: split it");
        }
    }
}

#[test]
fn every_public_async_fn_says_what_dropping_it_does() {
    let mut silent = Vec::new();
    for file in rust_files(&root().join("src")) {
        let source = fs::read_to_string(&file).unwrap();
        let (mut docs, mut inside) = (String::new(), false);
        for (number, line) in source.lines().map(str::trim).enumerate() {
            if line.starts_with("///") || line.starts_with("#[") {
                // The first of a new block of documentation.
                if !std::mem::replace(&mut inside, true) {
                    docs.clear();
                }
                docs.push_str(line);
                continue;
            }
            let documented = std::mem::take(&mut inside) && docs.contains("# Cancel safety");
            if line.starts_with("pub async fn ") && !documented {
                silent.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// `lock/guard.rs` is the module `lock::guard`; `lib.rs` is the root.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let parts = path.iter().map(|part| part.to_str().unwrap().to_owned());
    parts
        .filter(|part| part != "mod" && part != "lib")
        .collect()
}

/// Everything the arrows lead to from `top`; `None` when it is not in the table.
fn reach(top: &str) -> Option<BTreeSet<&'static str>> {
    let arrows = |from: &str| ARROWS.iter().find(|(name, _)| *name == from);
    let mut reached = BTreeSet::new();
    let mut open = arrows(top)?.1.to_vec();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(arrows(next).expect("arrows end in the table").1);
        }
    }
    Some(reached)
}

/// What the file of `module` with this `source` uses and should not.
fn violations(module: &[String], source: &str) -> Vec<String> {
    let Some(from) = module.first() else {
        return Vec::new(); // lib.rs declares and re-exports.
    };
    if module.iter().any(|part| part == "tests") {
        return Vec::new(); // A module's own tests may reach for what they need.
    }
    let mut uses = BTreeSet::new();
    let tokens: TokenStream = source.parse().expect("the file is Rust");
    collect(tokens, module, &mut uses);
    let judge = |path: Vec<String>| {
        let name = path.join("::");
        let Some(to) = path.first().filter(|to| reach(to).is_some()) else {
            return Some(format!("crate::{name} is not a module: name its home"));
        };
        let allowed =
            from == to || reach(from).is_some_and(|reached| reached.contains(to.as_str()));
        (!allowed).then(|| format!("{from} must not use crate::{name}"))
    };
    uses.into_iter().filter_map(judge).collect()
}

/// Gathers the absolute paths that `tokens`, standing in `module`, lead to.
fn collect(tokens: TokenStream, module: &[String], uses: &mut BTreeSet<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => ident.to_string(),
        _ => String::new(),
    };
    let mut at = 0;
    while at < tokens.len() {
        let is_path = after_colons(&tokens, at + 1) || word(at + 1) == "as";
        match (&tokens[at], word(at).as_str()) {
            (_, "crate" | "super") if is_path => {
                at = read_path(&tokens, at, module.to_vec(), uses);
                continue;
            }
            (TokenTree::Group(group), _) => {
                let mut inner = module.to_vec();
                if at >= 2 && word(at - 2) == "mod" && group.delimiter() == Delimiter::Brace {
                    inner.push(word(at - 1));
                }
                collect(group.stream(), &inner, uses);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Whether the two tokens at `at` are `::`.
fn after_colons(tokens: &[TokenTree], at: usize) -> bool {
    let colon =
        |at| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(at) && colon(at + 1)
}

/// Follows the path or use tree at `at`, relative to `base`, to its leaves;
/// returns where it ends.
fn read_path(
    tokens: &[TokenTree],
    mut at: usize,
    mut base: Vec<String>,
    uses: &mut BTreeSet<Vec<String>>,
) -> usize {
    loop {
        match tokens.get(at) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                let comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
                for branch in inside.split(comma).filter(|branch| !branch.is_empty()) {
                    read_path(branch, 0, base.clone(), uses);
                }
                return at + 1;
            }
            Some(TokenTree::Ident(ident)) => match ident.to_string().as_str() {
                "crate" => base.clear(),
                "super" => drop(base.pop()),
                "self" => {}
                name => base.push(name.to_owned()),
            },
            Some(TokenTree::Punct(star)) if star.as_char() == '*' => base.push("*".into()),
            _ => return at, // `::<T>` and the like: the path was read before.
        }
        at += 1;
        if !after_colons(tokens, at)
            || matches!(tokens.get(at + 2), Some(TokenTree::Punct(punct)) if punct.as_char() == '<')
        {
            uses.insert(base);
            return at;
        }
        at += 2;
    }
}
