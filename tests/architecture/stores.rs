//! Every store has the same rooms.

use std::collections::BTreeSet;
use std::fs;

use crate::root;

/// The rooms that every store has, under the same names.
const ROOMS: &[&str] = &[
    "client", "clock", "config", "error", "health", "ledger", "ledgers", "list", "options",
    "prune", "schema", "watch",
];

/// Of each store: the rooms that it lacks, and those that only it needs.
const STORES: &[(&str, &[&str], &[&str])] = &[
    // Made of other stores, which have these rooms, and without a URL.
    (
        "combination",
        &[
            "clock", "config", "error", "health", "ledger", "ledgers", "list", "options", "prune",
            "schema", "watch",
        ],
        &[
            "admission",
            "attempt",
            "connection",
            "connections",
            "grant",
            "look",
            "node",
            "own_bids",
            "pace",
            "pulse",
            "release",
            "renew",
            "rules",
            "unlock",
            "upkeep",
        ],
    ),
    // Its table is a value: nothing fails, is made, or can be unwell, and it
    // is small enough to list itself. It has no options but the lease terms.
    (
        "memory",
        &[
            "clock", "error", "health", "ledger", "ledgers", "list", "options", "prune", "schema",
        ],
        &["queue", "table"],
    ),
    // Both stand on `sql`, which has the rooms that they lack.
    (
        "mysql",
        &["client", "clock", "ledgers", "watch"],
        &[
            "acquire",
            "calls",
            "dialect",
            "fuzzing",
            "ledger_statements",
            "purpose",
            "renew",
            "skew",
            "stamp",
            "statements",
            "takes",
            "words",
        ],
    ),
    (
        "postgres",
        &["client", "clock", "ledgers", "list"],
        &[
            "acquire",
            "calls",
            "dialect",
            "ledger_statements",
            "renew",
            "statements",
            "wire",
            "words",
        ],
    ),
    // Every script answers with the time.
    (
        "redis",
        &["clock"],
        &[
            "arguments",
            "batches",
            "cluster",
            "connect",
            "connection",
            "dead_waiters",
            "fuzzing",
            "hash",
            "keys",
            "look",
            "messages",
            "own",
            "reckoning",
            "renew",
            "reply",
            "scripts",
            "sentinels",
            "server",
            "servers",
            "skew",
            "slots",
            "subscriber",
            "tls",
            "votes",
            "walk",
            "words",
        ],
    ),
    // A second layout in the same servers, whose rooms it shares.
    (
        "redis/hash",
        &[
            "clock", "config", "error", "health", "ledger", "ledgers", "options", "prune",
            "schema", "watch",
        ],
        &["names", "renew"],
    ),
    // No store by itself: what the servers' errors mean, and how their time is
    // told, each of them says for itself.
    (
        "sql",
        &["clock", "error"],
        &[
            "batch", "dialect", "origin", "poll", "pool", "question", "row", "words",
        ],
    ),
    (
        "sqlite",
        // Its ledgers are one query more.
        &["ledgers"],
        &[
            "audience",
            "before_open",
            "database",
            "epoch",
            "file",
            "header",
            "inode",
            "job",
            "open",
            "pragmas",
            "presence",
            "shared_connection",
            "table",
            "wake_file",
            "worker",
        ],
    ),
    (
        "zookeeper",
        &[],
        &[
            "acquire",
            "asked_watch",
            "cleanup",
            "connection_number",
            "fuzzing",
            "nodes",
            "observe",
            "own_process",
            "owner",
            "path",
            "predecessor",
            "proof",
            "relay",
            "renew",
            "revoke",
            "runs",
            "session",
            "tls",
            "watch_room",
        ],
    ),
];

#[test]
fn every_store_has_the_same_rooms() {
    let stores = root().join("src/stores");
    for (store, lacks, own) in STORES {
        let map = fs::read_to_string(stores.join(store).join("mod.rs")).unwrap();
        let declared: BTreeSet<&str> = map
            .lines()
            .map(|line| line.trim_start_matches("pub(super) "))
            .map(|line| line.trim_start_matches("pub "))
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        let rooms = ROOMS.iter().filter(|room| !lacks.contains(room));
        let expected: BTreeSet<&str> = rooms.chain(*own).copied().collect();
        assert_eq!(declared, expected, "the files of {store}");
        for room in declared {
            let line = format!("//! | `{room}` | ");
            assert!(map.contains(&line), "{store}/mod.rs says what {room} is");
        }
    }
    // What all of them are opened with.
    let others = ["mod.rs", "kit", "code.rs", "options.rs", "typed.rs"];
    for entry in fs::read_dir(&stores).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let has_rule = STORES.iter().any(|(store, ..)| *store == name);
        assert!(
            has_rule || others.contains(&name.as_str()),
            "add {name:?} to the table of stores"
        );
    }
}

#[test]
fn the_client_of_a_store_is_the_seam_and_its_url_is_opened_in_config() {
    let stores = root().join("src/stores");
    for (store, lacks, _) in STORES {
        let folder = stores.join(store);
        for file in fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            let Ok(source) = fs::read_to_string(&file) else {
                continue; // A folder.
            };
            let name = file.file_name().unwrap().to_str().unwrap();
            let is_seam = source.lines().any(|line| {
                line.starts_with("impl") && line.contains(" Backend for ") && line.ends_with('{')
            });
            let stands_on_sql = ["mysql", "postgres"].contains(store);
            let should_be = name == "client.rs" && !stands_on_sql;
            assert_eq!(is_seam, should_be, "the backend of {store}: {name}");
        }
        let config = folder.join("config.rs");
        if !lacks.contains(&"config") && *store != "sql" {
            let source = fs::read_to_string(config).unwrap();
            assert!(source.contains("fn open("), "{store}/config.rs opens");
        }
    }
}

/// What a store on `sql` lacks, and may find in neither place.
const SPOKEN: &[(&str, &str)] = &[
    // Every statement says the server's time; `kit` carries it on.
    ("mysql", "clock"),
    ("postgres", "clock"),
];

#[test]
fn a_store_on_sql_has_each_room_itself_or_there() {
    let of = |store: &str| STORES.iter().find(|(name, ..)| *name == store).unwrap();
    let (_, lacking, _) = of("sql");
    for store in ["mysql", "postgres"] {
        for room in of(store).1 {
            let is_there = !lacking.contains(room);
            assert!(
                is_there || SPOKEN.contains(&(store, room)),
                "nobody has the {room} of {store}"
            );
        }
    }
}
