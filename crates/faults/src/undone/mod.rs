//! Bugs of the past, put back one at a time, so that the suite shows that it finds them.
//!
//! A file of crates/faults/undone is one bug: a head that says what it was, and a patch that puts
//! the old rule back into the code of today, in force where `TENURE_UNDONE` has the file's name. So
//! all of them are in one program, which is compiled once ([decision 98]).
//!
//! [decision 98]: ../../../docs/decisions/0098-old-bugs-are-put-back.md

mod hunt;
mod tree;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use hunt::{found_by, hunt};
pub use tree::patches;

/// Says which bug is back.
pub const VARIABLE: &str = "TENURE_UNDONE";

/// The patch that the others need: it reads [`VARIABLE`].
pub const SWITCH: &str = "switch";

/// Every fault, where a head does not name those that matter.
pub const ANY: &str = "any";

/// A bug of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Of its file.
    pub name: String,
    /// What it was.
    pub bug: String,
    /// The subject of the commit that mended it.
    pub mended_by: String,
    /// Where it shows.
    pub store: String,
    /// The faults that show it, or `any`; with semicolons between them.
    pub faults: String,
    /// What the faults are chosen by.
    pub seed: u64,
}

impl Undone {
    /// Reads the head of a patch.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub fn parse(name: &str, patch: &str) -> Result<Self, String> {
        let (head, _) = patch
            .split_once("\ndiff --git ")
            .ok_or_else(|| format!("{name}: no patch"))?;
        let field = |key: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(key));
            let value = line.map(str::trim).filter(|value| !value.is_empty());
            value.map_or_else(|| Err(format!("{name}: no {key}")), |it| Ok(it.to_owned()))
        };
        let seed = field("Seed:")?;
        Ok(Self {
            name: name.to_owned(),
            bug: field("Bug:")?,
            mended_by: field("Mended by:")?,
            store: field("Store:")?,
            faults: field("Faults:")?,
            seed: seed
                .parse()
                .map_err(|_| format!("{name}: no seed: {seed}"))?,
        })
    }
}

/// Where the patches lie.
#[must_use]
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("undone")
}

/// All bugs, by their names.
///
/// # Errors
/// When a file cannot be read, or its head is not whole.
pub fn all() -> io::Result<Vec<Undone>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(home())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if name != SWITCH {
            names.push(name.into_owned());
        }
    }
    names.sort();
    let read = |name: &String| {
        let patch = fs::read_to_string(home().join(format!("{name}.patch")))?;
        Undone::parse(name, &patch).map_err(io::Error::other)
    };
    names.iter().map(read).collect()
}
