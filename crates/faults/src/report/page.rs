//! One page with everything, to be opened in a browser.

use std::fmt::Write as _;
use std::time::Duration;

use crate::judge::Kind;
use crate::results::Results;
use crate::slice::{Outcome, SlicePlan};

use super::{faults, stores, svg, timeline};

/// How much of a history is shown around a violation.
const AROUND: Duration = Duration::from_secs(4);

/// How many violations of a slice are shown: the rest follows from them, as a rule.
const SHOWN: usize = 5;

/// What the slices of this run came to, each with its timeline, below what all came to.
#[must_use]
pub fn page(results: &Results, ran: &[(SlicePlan, Outcome)]) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Faults</title>\n\
         <style>body{font-family:sans-serif;margin:2em}td,th{border:1px solid #ccc;padding:.2em .5em}\
         table{border-collapse:collapse}pre{background:#f6f6f6;padding:1em;overflow:auto}</style>\n\
         <h1>What happened, and what held</h1>\n",
    );
    page.push_str(&html_table(&stores(results)));
    page.push_str("<h2>Faults</h2>\n");
    page.push_str(&html_table(&faults(results)));
    for (plan, outcome) in ran {
        let violations = &outcome.verdict.violations;
        let _ = writeln!(
            page,
            "<h2>{} {}.{}: {} grants, {} violations</h2>",
            plan.store,
            plan.seed,
            plan.index,
            outcome.verdict.tally.grants,
            violations.len()
        );
        page.push_str(&svg(&outcome.events, violations, None));
        let mut shown: Vec<_> = violations.iter().collect();
        shown.sort_by_key(|violation| (violation.kind == Kind::NotLinearizable, violation.span));
        for violation in shown.into_iter().take(SHOWN) {
            let (from, until) = violation.span;
            let span = (from.saturating_sub(AROUND), until.saturating_add(AROUND));
            let one = std::slice::from_ref(violation);
            page.push_str(&svg(&outcome.events, one, Some(span)));
            let text = timeline(&outcome.events, violation, AROUND);
            let _ = writeln!(page, "<pre>{}</pre>", escaped(&text));
        }
    }
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn html_table(markdown: &str) -> String {
    let mut table = String::from("<table>\n");
    for line in markdown.lines().filter(|line| !line.starts_with("| ---")) {
        let cells = line.trim_matches('|').split('|');
        let cells = cells.map(|cell| format!("<td>{}</td>", escaped(cell.trim())));
        let _ = writeln!(table, "<tr>{}</tr>", cells.collect::<String>());
    }
    table + "</table>\n"
}
