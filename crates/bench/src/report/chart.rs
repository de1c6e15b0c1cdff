//! The results as a picture.

use std::fmt::Write;

use super::number::Unit;
use super::{Growth, Point, Report, Row};

const WIDTH: f64 = 1_060.0;
/// Where the bars begin, after the words.
const LEFT: f64 = 440.0;
const BAR: f64 = 14.0;
const OURS: &str = "#2563a8";
const OTHERS: [&str; 3] = ["#9aa3ad", "#c9b458", "#b07aa1"];
const PANEL: (f64, f64) = (325.0, 190.0);
/// Between two panels, and above each, for its two lines of words.
const GAP: (f64, f64) = (25.0, 44.0);
/// Behind the last point of a line, for whose it is.
const WHOSE: f64 = 140.0;

/// All times on one scale of powers of ten, then how costs grow.
pub fn chart(report: &Report) -> String {
    let mut body = String::new();
    let top = bars(report, &mut body);
    let height = panels(report, top + 30.0, &mut body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\" \
         fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

/// The time of a row in microseconds.
fn micros(row: &Row, number: f64) -> Option<f64> {
    match row.unit {
        Unit::Micros => Some(number),
        Unit::Millis => Some(number * 1_000.0),
        _ => None,
    }
}

fn bars(report: &Report, body: &mut String) -> f64 {
    let rows = report.rows.iter().filter(|row| micros(row, 1.0).is_some());
    let rows: Vec<&Row> = rows.filter(|row| !row.sides.is_empty()).collect();
    // From a tenth of a microsecond to ten seconds.
    let place = |micros: f64| {
        let share = (micros.max(0.1).log10() + 1.0) / 8.0;
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - 120.0)
    };
    let mut top = 58.0;
    text(
        body,
        10.0,
        20.0,
        "Time, on a scale of powers of ten; the thin line is from the lowest to the highest round",
    );
    let begin = top - 14.0;
    for row in rows {
        text(body, 10.0, top + 11.0, &row.title);
        for (number, side) in row.sides.iter().enumerate() {
            let Some(middle) = micros(row, side.median()).filter(|middle| middle.is_finite())
            else {
                continue;
            };
            let colour = colour(number);
            let (least, most) = side.spread();
            let [from, to] = [least, most].map(|end| place(micros(row, end).unwrap_or(middle)));
            let end = place(middle);
            let _ = writeln!(
                body,
                "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"/>\
                 <path d=\"M{from:.1} {y:.1}H{to:.1}\" stroke=\"#222\"/>",
                (end - LEFT).max(1.0),
                BAR - 2.0,
                y = top + 6.0
            );
            let label = format!("{} {}", row.unit.show(side.median()), side.name);
            text(body, end.max(to) + 4.0, top + 10.0, &label);
            top += BAR;
        }
        top += 8.0;
    }
    for power in -1..=7 {
        let micros = 10_f64.powi(power);
        let x = place(micros);
        let _ = writeln!(
            body,
            "<path d=\"M{x:.1} {begin:.1}V{top:.1}\" stroke=\"#ddd\" stroke-width=\"0.5\"/>"
        );
        let label = match power {
            ..3 => format!("{micros} µs"),
            3..6 => format!("{} ms", micros / 1e3),
            _ => format!("{} s", micros / 1e6),
        };
        text(body, x - 10.0, begin - 2.0, &label);
    }
    top
}

fn panels(report: &Report, top: f64, body: &mut String) -> f64 {
    text(
        body,
        10.0,
        top,
        "How costs grow; both scales are powers of ten",
    );
    let mut titles: Vec<&str> = Vec::new();
    for growth in &report.growths {
        if !titles.contains(&growth.title.as_str()) {
            titles.push(&growth.title);
        }
    }
    for (number, title) in titles.iter().enumerate() {
        let x = 10.0 + (number % 3) as f64 * (PANEL.0 + GAP.0);
        let y = top + GAP.1 + (number / 3) as f64 * (PANEL.1 + GAP.1);
        let lines = report
            .growths
            .iter()
            .filter(|growth| growth.title == *title);
        panel(&lines.collect::<Vec<_>>(), x, y, body);
    }
    top + 20.0 + titles.len().div_ceil(3) as f64 * (PANEL.1 + GAP.1)
}

fn panel(lines: &[&Growth], x: f64, y: f64, body: &mut String) {
    let Some(first) = lines.first() else { return };
    let points = || lines.iter().flat_map(|line| &line.points);
    let sizes = || points().map(|point| (point.size as f64).log10());
    let costs = || points().map(Point::median).filter(|cost| *cost > 0.0);
    let costs = || costs().map(f64::log10);
    let widest = sizes().fold(0.1, f64::max);
    let least = costs().fold(f64::INFINITY, f64::min).floor();
    let most = costs()
        .fold(f64::NEG_INFINITY, f64::max)
        .ceil()
        .max(least + 1.0);
    if !least.is_finite() {
        return;
    }
    let _ = writeln!(
        body,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#bbb\"/>",
        PANEL.0, PANEL.1
    );
    let (what, whose) = first.title.rsplit_once(", ").unwrap_or((&first.title, ""));
    text(body, x, y - 19.0, what);
    text(body, x, y - 5.0, &format!("{whose}, by {}", first.of));
    text(body, x + 4.0, y + 12.0, &first.unit.show(10_f64.powf(most)));
    text(
        body,
        x + 4.0,
        y + PANEL.1 - 4.0,
        &first.unit.show(10_f64.powf(least)),
    );
    for (number, line) in lines.iter().enumerate() {
        let place = |size: f64, cost: f64| {
            let across = x + 20.0 + size.log10() / widest * (PANEL.0 - 20.0 - WHOSE);
            let up = y + PANEL.1 - (cost.log10() - least) / (most - least) * PANEL.1;
            (across, up)
        };
        let shown = line.points.iter().filter(|point| point.median() > 0.0);
        let shown: Vec<(f64, f64)> = shown
            .map(|point| place(point.size as f64, point.median()))
            .collect();
        let colour = colour(number);
        let points: Vec<String> = shown
            .iter()
            .map(|(across, up)| format!("{across:.1},{up:.1}"))
            .collect();
        let _ = writeln!(
            body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        for (across, up) in &shown {
            let _ = writeln!(
                body,
                "<circle cx=\"{across:.1}\" cy=\"{up:.1}\" r=\"2.5\" fill=\"{colour}\"/>"
            );
        }
        if let Some((across, up)) = shown.last() {
            text(body, across + 6.0, up + 4.0, &line.side);
        }
    }
}

fn colour(number: usize) -> &'static str {
    match number {
        0 => OURS,
        _ => OTHERS[(number - 1) % OTHERS.len()],
    }
}

fn text(body: &mut String, x: f64, y: f64, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}
