//! What one server carries, computed from what was measured.

use serde_json::{Value, json};

use super::number::digits;
use super::{Growth, Point, Report};
use crate::environment::Store;

/// A server that has nothing left is not planned for.
const BUSY: f64 = 0.5;
/// The fleet to plan for.
const PROCESSES: f64 = 10_000.0;
const LOCKS: f64 = 100.0;
/// The size at which holding is looked at, or the next at which it was seen above what a server
/// does idle.
const HELD: usize = 1_000;

/// What one server of a store carries with half of one processor.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// Which store.
    pub store: Store,
    /// How often a lock is taken and freed in a second.
    pub cycles: f64,
    /// How many names are held, each renewed every ten seconds.
    pub held: f64,
    /// How many names are waited for.
    pub waiting: f64,
    /// How many processes, each with the connections that one was seen to have.
    pub processes: f64,
    /// How many processors 10,000 processes with 100 locks each keep busy with renewals alone.
    pub processors: f64,
    /// How many servers they need, by processors and by connections.
    pub servers: f64,
}

/// How much rarer than in the measurement, which was done with the short lease, a held name is
/// renewed with the usual one: every 10 s instead of every second. Sessions were as usual.
fn rarer(store: Store) -> f64 {
    match store {
        Store::Zookeeper => 1.0,
        _ => 10.0,
    }
}

/// How many clients a server takes unless it is told otherwise, or can serve.
fn connections(store: Store) -> f64 {
    match store {
        // `maxclients`
        Store::Redis => 10_000.0,
        // A process each: some thousand before a pooler is needed.
        Store::Postgres => 1_000.0,
        // A thread each.
        Store::Mariadb => 5_000.0,
        // Sessions, over the members of an ensemble.
        Store::Zookeeper => 10_000.0,
        Store::Memory | Store::Sqlite => f64::INFINITY,
    }
}

/// One line for every server that was measured.
pub fn plan(report: &Report) -> Vec<Fleet> {
    let stores = Store::ALL.into_iter().filter(|store| store.has_server());
    stores.filter_map(|store| fleet(report, store)).collect()
}

fn fleet(report: &Report, store: Store) -> Option<Fleet> {
    let key = store.key();
    let ours = |id: &str| Some(report.row(&format!("{id}/{key}"))?.sides.first()?.median());
    // Microseconds of the server's processor.
    let cycle = ours("server-cpu")?;
    let renewal = of_a_name(report.growth(&format!("held-cpu/{key}"))?)?;
    // Where it is too little to be seen, it is no limit.
    let renewal = renewal.max(0.001) / rarer(store);
    let waiting = ours("waiting-cpu")?;
    let sockets = ours("connections")?;
    let free = BUSY * 1e6;
    let held = free / renewal;
    let processes = connections(store) / sockets.max(1.0);
    let processors = PROCESSES * LOCKS * renewal / 1e6;
    Some(Fleet {
        store,
        cycles: free / cycle,
        held,
        waiting: free / waiting.max(0.001),
        processes,
        processors,
        servers: (processors / BUSY).max(PROCESSES / processes).ceil(),
    })
}

/// What a held name and its renewal cost. Nothing seen is not nothing: where there are more
/// names there is less of what the server does besides in it.
fn of_a_name(held: &Growth) -> Option<f64> {
    let sizes = held.points.iter().filter(|point| point.size >= HELD);
    let mut costs = sizes.map(Point::median);
    costs.find(|cost| *cost > 0.0).or_else(|| held.at(HELD))
}

/// Two digits are all that a plan deserves.
fn limit(number: f64) -> String {
    if number >= 1e8 {
        return "no limit seen".to_owned();
    }
    let power = 10_f64.powf(number.max(1.0).log10().floor() - 1.0);
    digits((number / power).round() * power)
}

impl Fleet {
    /// A line of the table.
    pub(super) fn line(&self) -> String {
        format!(
            "| {} | {} | {} | {} | {} | {} processors for renewals; {} servers |",
            self.store.name(),
            limit(self.cycles),
            limit(self.held),
            limit(self.waiting),
            limit(self.processes),
            digits(self.processors),
            digits(self.servers)
        )
    }

    /// For the file.
    pub(super) fn json(&self) -> Value {
        json!({
            "store": self.store.key(),
            "take_and_free_per_second": self.cycles,
            "held_names": self.held,
            "waiting_names": self.waiting,
            "processes_by_connections": self.processes,
            "fleet_processors": self.processors,
            "fleet_servers": self.servers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unit;

    #[test]
    fn what_was_not_seen_of_a_thousand_names_is_looked_for_in_more() {
        let held = |costs: &[(usize, f64)]| {
            let sizes: Vec<usize> = costs.iter().map(|(size, _)| *size).collect();
            let new =
                |sizes| Growth::new(String::new(), String::new(), "", "", Unit::Micros, sizes);
            let mut growth = new(&sizes);
            for (point, (_, cost)) in growth.points.iter_mut().zip(costs) {
                point.rounds.push(*cost);
            }
            of_a_name(&growth)
        };
        assert_eq!(held(&[(100, 9.0), (1_000, 3.0), (10_000, 2.0)]), Some(3.0));
        assert_eq!(held(&[(100, 9.0), (1_000, 0.0), (10_000, 2.0)]), Some(2.0));
        assert_eq!(held(&[(100, 9.0), (1_000, 0.0)]), Some(0.0));
        assert_eq!(held(&[(100, 9.0)]), Some(9.0), "a quick run");
    }
}
