//! The instructions of the engine, counted by valgrind: the same on every machine, whatever
//! else it does. What `crates/bench/counts.txt` says is a limit, with some room.

use std::collections::BTreeMap;
use std::process::Command;
use std::{env, fs};

/// How much more than what is written down is let pass: other versions of the compiler and of
/// the dependencies move the numbers a little.
const ROOM: f64 = 1.15;

/// Few enough for seconds, and so many that the start of a program does not show.
const FEW: u64 = 100;
const MANY: u64 = 600;

/// The instructions of a program that takes and frees so many times.
fn instructions(url: &str, count: u64) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_tenure-bench-cycles"))
        .args([url, &count.to_string()])
        .output()
        .expect("valgrind is installed");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{url}: {text}");
    let line = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let number = line.and_then(|(_, number)| number.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no count in {text}"))
}

/// The instructions of one take and free.
fn each(url: &str) -> u64 {
    (instructions(url, MANY) - instructions(url, FEW)) / (MANY - FEW)
}

#[test]
fn a_take_and_free_needs_no_more_instructions_than_are_written_down() {
    let measured = BTreeMap::from([("memory", each("memory:"))]);
    for (path, count) in &measured {
        println!("{path} {count}");
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.txt");
    if env::var_os("TENURE_COUNTS").is_some_and(|word| word == "write") {
        let lines = measured
            .iter()
            .map(|(path, count)| format!("{path} {count}\n"));
        fs::write(file, lines.collect::<String>()).expect("the file can be written");
        return;
    }
    let text = fs::read_to_string(file).expect("the file is there");
    let written: BTreeMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(path, count)| Some((path, count.parse().ok()?)))
        .collect();
    for (path, count) in measured {
        let limit = (written[path] as f64 * ROOM) as u64;
        assert!(
            count <= limit,
            "{path}: {count} instructions, and {limit} is the limit; if that is meant, run \
             `cargo xtask counts --write` and say so in the commit"
        );
    }
}
