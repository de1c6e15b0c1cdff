//! What comes to Tenure from outside, made up by a fuzzer: nothing of it may panic, hang
//! or be believed.
//!
//! `cargo xtask fuzz` runs the [targets](TARGETS) under LLVM's fuzzer, which is told what code
//! an input has reached. What it found worth keeping is in crates/fuzz/corpus, and the
//! test `corpus` of this crate runs all of that, in every run and without a fuzzer
//! (docs/decisions, 88).

pub mod corpus;
mod input;
#[path = "../../cli/src/guardian/orders.rs"]
#[expect(dead_code)] // The program's, which asks more of it.
mod orders;
mod targets;

/// Something that reads what comes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name for `cargo xtask fuzz --target`, and of its corpus.
    pub name: &'static str,
    /// Reads what was made up.
    pub run: fn(&[u8]),
}

/// Everything that is fuzzed.
pub const TARGETS: [Target; 8] = [
    Target {
        name: "urls",
        run: targets::urls,
    },
    Target {
        name: "redis",
        run: targets::redis,
    },
    Target {
        name: "sql",
        run: targets::sql,
    },
    Target {
        name: "zookeeper",
        run: targets::zookeeper,
    },
    Target {
        name: "ledger",
        run: targets::ledger,
    },
    Target {
        name: "guardian",
        run: targets::guardian,
    },
    Target {
        name: "http",
        run: targets::http,
    },
    Target {
        name: "requests",
        run: targets::requests,
    },
];

impl Target {
    /// The target of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }
}
