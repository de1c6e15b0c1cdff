//! What all slices came to, as tables of a page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::results::{Results, Slice};

/// A line for each store: how much was run, and what was seen.
#[must_use]
pub fn stores(results: &Results) -> String {
    let mut text = String::from(
        "| store | slices | minutes | faults | grants | lost | writes by owners | runs of the schedule \
         | late writes refused with a fence | taken without one | two owners where the store forgot \
         (longest) | slowest recovery | violations | seeds |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (store, slices) in results.by_store() {
        let sum = |of: fn(&Slice) -> u64| slices.iter().map(|slice| of(slice)).sum::<u64>();
        let longest = slices.iter().map(|slice| slice.longest_forgotten).max();
        let slowest = slices.iter().map(|slice| slice.slowest).max();
        let _ = writeln!(
            text,
            "| {store} | {} | {:.1} | {} | {} | {} | {} | {} | {} | {} | {} ({} ms) | {:.1} s | {} | {} |",
            slices.len(),
            sum(|slice| slice.seconds) as f64 / 60.0,
            sum(|slice| slice.faults.values().sum()),
            sum(|slice| slice.grants),
            sum(|slice| slice.losses),
            sum(|slice| slice.uses),
            sum(|slice| slice.runs),
            sum(|slice| slice.late_refused),
            sum(|slice| slice.late_taken),
            sum(|slice| slice.forgotten),
            longest.unwrap_or_default(),
            slowest.unwrap_or_default() as f64 / 1000.0,
            sum(|slice| slice.violations.len() as u64),
            seeds(&slices),
        );
    }
    text
}

/// `7.0-9`: the seed, and which of its slices.
fn seeds(slices: &[&Slice]) -> String {
    let mut seeds: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for slice in slices {
        seeds.entry(slice.seed).or_default().insert(slice.index);
    }
    let shown = seeds.iter().map(|(seed, indices)| {
        let (first, last) = (indices.first(), indices.last());
        let (first, last) = (first.unwrap_or(&0), last.unwrap_or(&0));
        format!("{seed}.{first}-{last}")
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A line for each kind of fault, a column for each store: how often.
#[must_use]
pub fn faults(results: &Results) -> String {
    let stores = results.by_store();
    let kinds = results.slices.iter().flat_map(|slice| slice.faults.keys());
    let kinds: BTreeSet<&String> = kinds.collect();
    let heads: Vec<_> = stores.keys().copied().collect();
    let mut text = format!("| fault | {} |\n", heads.join(" | "));
    let _ = writeln!(text, "| --- |{}", " --- |".repeat(heads.len()));
    for kind in kinds {
        let times = stores.values().map(|slices| {
            let times = slices.iter().filter_map(|slice| slice.faults.get(kind));
            match times.sum::<u64>() {
                0 => "·".to_owned(),
                times => times.to_string(),
            }
        });
        let _ = writeln!(
            text,
            "| {kind} | {} |",
            times.collect::<Vec<_>>().join(" | ")
        );
    }
    text
}

/// `page` with the tables in the place of those between its markers.
#[must_use]
pub fn write_into(page: &str, results: &Results) -> Option<String> {
    let (begin, end) = ("<!-- results -->\n", "<!-- end of results -->");
    let (head, rest) = page.split_once(begin)?;
    let (_, tail) = rest.split_once(end)?;
    let (stores, faults) = (stores(results), faults(results));
    Some(format!("{head}{begin}{stores}\n{faults}{end}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_column_for_each_store_and_replace_the_old_ones() {
        let slice = |store: &str, fault: &str| Slice {
            store: store.to_owned(),
            seconds: 90,
            faults: [(fault.to_owned(), 3)].into(),
            ..Slice::default()
        };
        let results = Results {
            slices: vec![slice("redis", "cut"), slice("sqlite", "disk full")],
        };
        let page = "head\n<!-- results -->\nold\n<!-- end of results -->\ntail";
        let page = write_into(page, &results).unwrap();
        assert!(page.contains("| redis | 1 | 1.5 | 3 |"), "{page}");
        assert!(page.contains("| cut | 3 | · |"), "{page}");
        assert!(!page.contains("old") && page.ends_with("tail"), "{page}");
        assert_eq!(write_into("no markers", &results), None);
    }
}
