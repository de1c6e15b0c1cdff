//! Putting the results into the page and the chart beside it.

use std::fs;
use std::path::Path;

use super::{Report, chart, json, page};
use crate::Result;

/// The chart, as the page shows it.
const CHART: &str = "![Times and growth](performance.svg)";

/// Replaces what stands between the markers of `performance.md`, and writes the chart and the
/// numbers beside it.
pub fn write_docs(report: &Report, docs: &Path) -> Result<()> {
    let path = docs.join("performance.md");
    let text = fs::read_to_string(&path)?;
    let measured = format!("{}\n{CHART}\n", page::measured(report));
    let text = replaced(&text, "measured", &measured)?;
    let text = replaced(&text, "computed", &page::computed(report))?;
    fs::write(&path, text)?;
    fs::write(docs.join("performance.svg"), chart(report))?;
    Ok(fs::write(docs.join("performance.json"), json(report))?)
}

/// `text` with `new` between the two markers of this name.
fn replaced(text: &str, name: &str, new: &str) -> Result<String> {
    let begin = format!("<!-- {name}: begin -->\n");
    let end = format!("<!-- {name}: end -->");
    let missing = || format!("the page has no markers for {name:?}");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{new}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_markers_is_replaced() {
        let text = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n";
        let new = "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n";
        assert_eq!(replaced(text, "x", "new\n").expect("markers"), new);
        assert!(replaced(text, "y", "new").is_err());
    }
}
