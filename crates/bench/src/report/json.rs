//! The results as a file for programs.

use serde_json::{Value, json};

use super::{Growth, Report, Row, plan};

/// All of it, as text.
pub fn json(report: &Report) -> String {
    let value = json!({
        "machine": report.machine.json(),
        "rounds": report.rounds,
        "rows": report.rows.iter().map(row).collect::<Vec<_>>(),
        "growth": report.growths.iter().map(growth).collect::<Vec<_>>(),
        "plan": plan(report).iter().map(super::Fleet::json).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn row(row: &Row) -> Value {
    let sides = row.sides.iter().enumerate().map(|(number, side)| {
        let (least, most) = side.spread();
        json!({
            "name": side.name,
            "median": side.median(),
            "lowest": least,
            "highest": most,
            "rounds": side.rounds,
            "tenure_over_it": row.over(number),
        })
    });
    json!({
        "id": row.id,
        "title": row.title,
        "unit": row.unit.key(),
        "sides": sides.collect::<Vec<_>>(),
        "reached": row.reached(),
        "goal_met": row.is_met(),
        "verdict": row.verdict(),
    })
}

fn growth(growth: &Growth) -> Value {
    let points = growth.points.iter();
    let points = points.map(
        |point| json!({ "size": point.size, "median": point.median(), "rounds": point.rounds }),
    );
    json!({
        "id": growth.id,
        "title": growth.title,
        "side": growth.side,
        "of": growth.of,
        "unit": growth.unit.key(),
        "points": points.collect::<Vec<_>>(),
        "slope": growth.slope(),
    })
}
