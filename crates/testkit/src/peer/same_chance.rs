//! Two copies of one machine: the same random bytes, the same process id.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::PeerBuilder;

/// Gives processes the same chance, as two copies of a virtual machine may have
/// it: every random byte of the operating system's is the same, and so is the
/// process id, in a namespace of each process's own.
#[derive(Debug)]
pub struct SameChance {
    folder: TempDir,
}

impl SameChance {
    /// Compiles what gives it.
    ///
    /// # Panics
    /// When there is no C compiler.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("same_chance.c");
        std::fs::write(&source, include_str!("same_chance.c")).expect("the source");
        let same = Self { folder };
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-o"])
            .arg(same.library());
        let compiled = compiler.arg(source).status().expect("cc");
        assert!(compiled.success(), "{compiler:?}");
        same
    }

    /// What is to be preloaded.
    #[must_use]
    pub fn library(&self) -> PathBuf {
        self.folder.path().join("same_chance.so")
    }

    /// `peer`, started where chance is the same.
    pub fn of(&self, number: usize, peer: PeerBuilder) -> PeerBuilder {
        let namespace = ["--map-root-user", "--pid", "--fork", "--kill-child", "--"];
        peer.through(&[&["unshare"], &namespace[..]].concat())
            .env("LD_PRELOAD", self.library())
            .env("TENURE_SAME_CHANCE", self.note(number))
    }

    fn note(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("asked-{number}"))
    }

    /// Whether the process of this number was given any.
    #[must_use]
    pub fn was_asked(&self, number: usize) -> bool {
        self.note(number).exists()
    }
}

impl Default for SameChance {
    fn default() -> Self {
        Self::new()
    }
}
