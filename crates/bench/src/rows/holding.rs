//! What it costs to hold names: memory here, and the time of the server for renewals.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Bench;
use crate::Result;
use crate::environment::{Lease, RunningStore, Store, connections};
use crate::locks::Kind;
use crate::report::{Goal, Growth, Row, Side, Unit};
use crate::worker::{Command, Place, Worker};

/// What a worker that holds names was seen to cost.
struct Held {
    /// Kilobytes of the process for each name.
    memory: f64,
    /// Kilobytes of Redis for each name.
    in_redis: Option<f64>,
    /// Microseconds of the server's processor for each name and second.
    cpu: Option<f64>,
    /// Requests to ZooKeeper in a second.
    requests: Option<f64>,
    connections: f64,
    /// Microseconds for a take and free beside them.
    take: Option<f64>,
}

pub(super) fn measure(bench: &mut Bench<'_>, stage: &RunningStore) -> Result<()> {
    bench.say(stage, "names that are held");
    let (store, key, sizes) = (stage.store(), stage.store().key(), &bench.effort.names);
    let kinds = match store {
        Store::Redis => vec![Kind::Tenure, Kind::Rslock],
        _ => vec![Kind::Tenure],
    };
    let growth = |id: &str, what: &str, kind: &Kind| {
        let side = if kind.is_ours() { "" } else { "/peer" };
        let (id, title) = (
            format!("{id}/{key}{side}"),
            format!("{what}, {}", store.name()),
        );
        Growth::new(id, title, kind.name(), "names held", Unit::Micros, sizes)
    };
    let mut memory: Vec<Growth> = Vec::new();
    for kind in &kinds {
        let growth = growth(
            "held-memory",
            "memory of the process for each held name",
            kind,
        );
        memory.push(Growth {
            unit: Unit::Kilobytes,
            ..growth
        });
    }
    let what = "server processor time for each held name and renewal";
    let mut cpu = growth("held-cpu", what, &Kind::Tenure);
    let what = "take + free of one more beside held names";
    let mut take = growth("held-take", what, &Kind::Tenure);
    let mut requests = Side::new("Tenure");
    let mut open = Side::new("Tenure");
    let mut in_redis = Side::new("Tenure");
    let largest = sizes.len() - 1;
    for _ in 0..bench.effort.rounds {
        // What the server does with nothing to hold is looked at once in a round.
        let mut idle = None;
        for (number, size) in sizes.iter().enumerate() {
            for (kind, memory) in kinds.iter().zip(&mut memory) {
                let held = hold(bench, stage, *kind, *size, &mut idle)?;
                memory.points[number].rounds.push(held.memory);
                if !kind.is_ours() {
                    continue;
                }
                cpu.points[number].rounds.extend(held.cpu);
                take.points[number].rounds.extend(held.take);
                if number + 1 == largest {
                    requests.rounds.extend(held.requests);
                    open.rounds.push(held.connections);
                    in_redis.rounds.extend(held.in_redis);
                }
            }
        }
    }
    for (at, id) in [(largest - 1, "memory-some"), (largest, "memory-many")] {
        let side = |growth: &Growth| Side {
            name: growth.side.clone(),
            rounds: growth.points[at].rounds.clone(),
        };
        bench.rows.push(Row {
            sides: memory.iter().map(side).collect(),
            goal: Some(Goal::Most(3.0)),
            ..Row::new(
                format!("{id}/{key}"),
                format!(
                    "memory for each of {} held names, {}",
                    sizes[at],
                    store.name()
                ),
                Unit::Kilobytes,
            )
        });
    }
    let some = sizes[largest - 1];
    let row = |id: &str, title: String, side: Side, unit, goal| Row {
        sides: vec![side],
        goal,
        ..Row::new(format!("{id}/{key}"), title, unit)
    };
    if !requests.rounds.is_empty() {
        let title = format!("requests each second with {some} held names, ZooKeeper");
        let limit = Some(Goal::Most(10.0));
        bench
            .rows
            .push(row("requests", title, requests, Unit::Count, limit));
    }
    if !in_redis.rounds.is_empty() {
        let title = format!("memory of Redis for each of {some} held names");
        bench
            .rows
            .push(row("server-memory", title, in_redis, Unit::Kilobytes, None));
    }
    if store.has_server() {
        let title = format!(
            "connections of a process with {some} held names, {}",
            store.name()
        );
        bench
            .rows
            .push(row("connections", title, open, Unit::Count, None));
        bench.growths.push(cpu);
    }
    bench.growths.push(take);
    bench.growths.extend(memory);
    Ok(())
}

/// Two renewals of a session in ZooKeeper, and some time for them.
const SETTLED: Duration = Duration::from_secs(4);

fn hold(
    bench: &Bench<'_>,
    stage: &RunningStore,
    kind: Kind,
    count: usize,
    idle: &mut Option<Watched>,
) -> Result<Held> {
    let length = Duration::from_millis(bench.effort.watch_millis);
    let (lease, length) = match stage.store() {
        // Its session is asked about every 1.25 s, as it is where nothing is set.
        Store::Zookeeper => (Lease::Usual, length * 2),
        _ => (Lease::Short, length),
    };
    let (url, prefix) = (stage.url(lease), bench.fresh("held"));
    let mut worker = Worker::start(kind, &url, Place::Anywhere(1))?;
    let is_watched = kind.is_ours() && stage.store().has_server();
    let idle = if is_watched {
        *idle.get_or_insert_with(|| watch(stage, length))
    } else {
        Watched::default()
    };
    let redis = stage.redis_memory();
    let answer = worker.ask(&Command::Hold { count, prefix })?;
    let each = |bytes: u64| bytes as f64 / 1024.0 / count as f64;
    let in_redis = redis.zip(stage.redis_memory());
    if stage.store() == Store::Zookeeper && is_watched {
        // The first renewal sets a watch on each node. What holding costs comes after it.
        sleep(SETTLED);
    }
    let busy = if is_watched {
        watch(stage, length)
    } else {
        Watched::default()
    };
    let open = connections(worker.pid());
    let take = kind
        .is_ours()
        .then(|| beside(bench, &mut worker))
        .transpose()?;
    let more = |busy: f64, idle: f64| (busy - idle).max(0.0) / count as f64;
    Ok(Held {
        memory: each(answer[1].saturating_sub(answer[0])),
        in_redis: in_redis.map(|(before, after)| each(after.saturating_sub(before))),
        cpu: busy.cpu.zip(idle.cpu).map(|(busy, idle)| more(busy, idle)),
        requests: busy.requests,
        connections: open as f64,
        take,
    })
}

/// How long a take and free of another name takes the worker, in microseconds.
fn beside(bench: &Bench<'_>, worker: &mut Worker) -> Result<f64> {
    let millis = (bench.effort.millis / 4).max(10);
    let answer = worker.ask(&Command::Cycle {
        tasks: 1,
        names: 1,
        millis,
        prefix: bench.fresh("beside"),
    })?;
    Ok(millis as f64 * 1_000.0 / answer[0].max(1) as f64)
}

/// What a server did in each second of a while.
#[derive(Clone, Copy, Default)]
pub(super) struct Watched {
    /// Microseconds of its processor.
    pub(super) cpu: Option<f64>,
    /// Requests.
    requests: Option<f64>,
}

pub(super) fn watch(stage: &RunningStore, length: Duration) -> Watched {
    let (begun, cpu, requests) = (Instant::now(), stage.cpu(), stage.zookeeper_requests());
    sleep(length);
    let seconds = begun.elapsed().as_secs_f64();
    let rate = |before: Option<u64>, after: Option<u64>| {
        let (before, after) = before.zip(after)?;
        Some(after.saturating_sub(before) as f64 / seconds)
    };
    Watched {
        cpu: rate(cpu, stage.cpu()).map(|nanos| nanos / 1_000.0),
        requests: rate(requests, stage.zookeeper_requests()),
    }
}
