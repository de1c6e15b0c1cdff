//! The rule of imports, tried on made-up files.

use super::violations;

fn broken(module: &str, source: &str) -> Vec<String> {
    let module: Vec<String> = module.split("::").map(str::to_owned).collect();
    violations(&module, source)
}

fn allowed(module: &str, source: &str) {
    assert_eq!(broken(module, source), Vec::<String>::new(), "{source}");
}

fn refused(module: &str, source: &str, words: &str) {
    let found = broken(module, source);
    assert_eq!(found.len(), 1, "{found:?} in {source}");
    assert!(found[0].contains(words), "{found:?}");
}

#[test]
fn arrows_may_be_followed_downwards_and_not_upwards() {
    allowed("engine::driver", "use crate::backend::Bid;");
    allowed(
        "lock",
        "use crate::backend::HoldStore; use crate::clock::Clock;",
    );
    allowed(
        "blocking",
        "use crate::coordinator::Coordinator; use crate::lock::Lock;",
    );
    allowed("model::name", "use crate::error::Error;");
    refused(
        "engine",
        "use crate::lock::Lock;",
        "engine must not use crate::lock::Lock",
    );
    refused(
        "engine",
        "use crate::stores::redis;",
        "must not use crate::stores",
    );
    refused(
        "stores::redis",
        "use crate::engine::Machine;",
        "must not use crate::engine",
    );
    refused(
        "lock",
        "use crate::stores::open;",
        "must not use crate::stores",
    );
    refused(
        "error",
        "use crate::clock::Clock;",
        "must not use crate::clock",
    );
    refused(
        "model",
        "use crate::clock::Clock;",
        "must not use crate::clock",
    );
}

#[test]
fn user_facing_folders_do_not_know_each_other() {
    refused("leader", "use crate::lock;", "must not use crate::lock");
    refused(
        "leader",
        "use crate::queue::Place;",
        "must not use crate::queue",
    );
    allowed("lock", "use crate::queue::Place;");
    refused(
        "queue",
        "use crate::error::Error;",
        "queue must not use crate::error",
    );
    refused(
        "schedule",
        "use crate::leader::Elector;",
        "must not use crate::leader",
    );
    refused(
        "service",
        "use crate::{lock::Lock, engine::Tenure};",
        "must not use crate::lock::Lock",
    );
}

#[test]
fn re_exports_are_for_others() {
    refused(
        "lock",
        "fn f() -> crate::Result<()> { Ok(()) }",
        "name its home",
    );
    refused(
        "lock",
        "use crate::{Error, error::ErrorKind};",
        "crate::Error",
    );
    refused("lock", "use crate::*;", "crate::*");
    refused("lock", "use crate as tenure;", "name its home");
    refused(
        "lock",
        "macro_rules! m { () => { $crate::Error } }",
        "crate::Error",
    );
}

#[test]
fn groups_expressions_and_climbing_are_seen_through() {
    refused(
        "engine",
        "use crate::{model::X, lock::{a::{B}}};",
        "crate::lock::a::B",
    );
    refused(
        "engine",
        "fn f() { g(vec![crate::leader::h::<u8>()]) }",
        "crate::leader::h",
    );
    refused(
        "engine::a",
        "use super::super::lock::Lock;",
        "crate::lock::Lock",
    );
    refused(
        "engine::a",
        "use super::{b, super::{model::X, lock::Lock}};",
        "crate::lock::Lock",
    );
    refused(
        "engine",
        "mod tests { use super::super::lock::Lock; }",
        "crate::lock::Lock",
    );
    allowed(
        "engine",
        "mod tests { use super::*; use super::lock::Lock; }",
    );
    allowed(
        "engine::a",
        "pub(crate) fn f() {} pub(super) use super::lock::Lock;",
    );
}

#[test]
fn comments_and_strings_do_not_count() {
    allowed(
        "engine",
        "/// [`crate::Lock`]\n// crate::lock\nconst A: &str = \"crate::lock\";",
    );
}
