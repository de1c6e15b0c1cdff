//! The texts to paste of docs/recipes do what the pages say.

use std::fs;
use std::path::Path;

use super::support::{Home, bounded};

/// A page of docs/recipes.
fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
    fs::read_to_string(path.join(name)).unwrap()
}

/// The blocks of a page that are in `language`.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = page.split(&fence).skip(1);
    let blocks = parts.map(|part| part.split("\n```").next().unwrap().to_owned());
    let blocks: Vec<String> = blocks.collect();
    assert!(!blocks.is_empty(), "there is a block of {language}");
    blocks
}

/// Runs a script as a person would who has installed the program.
fn paste(home: &Home, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_tenure"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut command = home.command("sh");
    command.args(["-euc", script]).env("PATH", path);
    let output = bounded(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn jobs_of_a_crontab_run_once_in_their_period() {
    let home = Home::new();
    let page = page("cron.md");
    for script in blocks(&page, "sh") {
        paste(&home, &script);
    }
    let mut jobs = 0;
    // Two hosts, one after the other, with the same table.
    for _ in 0..2 {
        for table in blocks(&page, "crontab") {
            let mut variables = String::new();
            for line in table.lines() {
                if line.starts_with("TENURE_") {
                    variables = format!("export {line}\n");
                } else if !line.starts_with('#') && !line.is_empty() {
                    let command = line.splitn(6, ' ').nth(5).unwrap();
                    paste(&home, &format!("{variables}{command}"));
                    jobs += 1;
                }
            }
        }
    }
    assert_eq!(jobs, 6);
    let runs = fs::read_to_string(home.path("runs")).unwrap();
    let mut runs: Vec<&str> = runs.lines().collect();
    runs.sort_unstable();
    assert_eq!(runs, ["report", "sync", "sync", "tidy"]);
    let done = paste(
        &home,
        "export TENURE_URL_FILE=etc/tenure.url; tenure schedules",
    );
    assert!(
        done.contains("nightly-report") && done.contains("tidy"),
        "{done}"
    );
}

#[test]
fn what_flock_did_is_done_with_a_token() {
    let home = Home::new();
    for script in blocks(&page("flock.md"), "sh") {
        let said = paste(&home, &script);
        assert!(said.contains("one at a time\nnow or never\nours, with token "));
    }
}

#[test]
fn an_entry_point_leads() {
    let home = Home::new();
    for script in blocks(&page("containers.md"), "sh") {
        assert!(paste(&home, &script).contains("leading with token "));
    }
}

/// Every command line of a unit or an image is one that the program takes.
#[test]
fn the_units_name_options_that_there_are() {
    let home = Home::new();
    let mut lines = 0;
    for unit in blocks(&page("systemd.md"), "ini") {
        for line in unit.lines() {
            let Some(words) = line.strip_prefix("ExecStart=/usr/local/bin/tenure ") else {
                continue;
            };
            let (ours, _) = words.split_once(" -- ").unwrap();
            let asked = paste(&home, &format!("tenure {ours} --help"));
            assert!(asked.contains("Usage"), "{asked}");
            lines += 1;
        }
    }
    assert_eq!(lines, 2);
}
