//! The results as tables for people.

use std::fmt::Write;

use super::{Growth, Report, Row, plan};

/// What was measured: the machine, the rows, the growth.
pub fn page(report: &Report) -> String {
    format!("{}\n{}", measured(report), computed(report))
}

/// The tables of numbers that were measured.
pub(super) fn measured(report: &Report) -> String {
    let mut page = format!(
        "{} Medians of {} rounds, the lowest and the highest in brackets.\n\n\
         | measure | Tenure | beside it, in the same rounds | goal |\n| --- | --- | --- | --- |\n",
        report.machine.sentence(),
        report.rounds
    );
    for row in &report.rows {
        let _ = writeln!(page, "{}", line(row));
    }
    page.push_str("\n| how it grows | whose | of | slope |\n| --- | --- | --- | --- |\n");
    for growth in &report.growths {
        let _ = writeln!(page, "{}", growth_line(growth));
    }
    page
}

fn line(row: &Row) -> String {
    let mut sides = row.sides.iter().map(|side| (side, side.show(row.unit)));
    let ours = sides
        .next()
        .map_or_else(String::new, |(side, shown)| match side.name.as_str() {
            "Tenure" => shown,
            name => format!("{name}: {shown}"),
        });
    let others = sides.map(|(side, shown)| format!("{} {shown}", side.name));
    let others = others.collect::<Vec<_>>().join("; ");
    let others = if others.is_empty() { "–" } else { &others };
    format!("| {} | {ours} | {others} | {} |", row.title, row.verdict())
}

fn growth_line(growth: &Growth) -> String {
    let points = growth.points.iter();
    let points =
        points.map(|point| format!("{}: {}", point.size, growth.unit.show(point.median())));
    let slope = growth.slope();
    format!(
        "| {} | {} | {}: {} | {} |",
        growth.title,
        growth.side,
        growth.of,
        points.collect::<Vec<_>>().join(", "),
        slope.map_or_else(|| "–".to_owned(), |slope| format!("{slope:.2}"))
    )
}

/// The table of numbers that follow from them.
pub(super) fn computed(report: &Report) -> String {
    let mut page = String::from(
        "| one server | take + free each second | held names | waiting names | processes by connections | 10,000 processes × 100 locks |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for fleet in plan(report) {
        let _ = writeln!(page, "{}", fleet.line());
    }
    page
}
