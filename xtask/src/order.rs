//! Which job is next, so that what computes runs beside what waits and nothing long comes last.

/// What a job does with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// It keeps the processors busy, and can wait for them: it runs at a lower priority.
    Computes,
    /// It waits, for leases and for servers, and must hear in time that they have ended.
    Waits,
}

/// The jobs that take long, the longest first, and those that compute. What is not named here
/// takes seconds and comes after them.
const KNOWN: [(&str, Load); 28] = [
    ("jvm", Load::Waits),
    ("zookeeper", Load::Waits),
    ("contention", Load::Computes),
    ("redis", Load::Waits),
    ("cli", Load::Waits),
    ("postgres", Load::Waits),
    ("mysql", Load::Waits),
    ("tenure (unittests src/lib.rs)", Load::Computes),
    ("engine", Load::Computes),
    ("sqlite", Load::Waits),
    ("combination", Load::Waits),
    ("views", Load::Waits),
    ("servers", Load::Waits),
    ("faults", Load::Waits),
    ("browser", Load::Waits),
    ("reentrant", Load::Waits),
    ("schedule_stores", Load::Waits),
    ("bench", Load::Waits),
    ("doc-tests", Load::Computes),
    ("counts", Load::Computes),
    ("protocols", Load::Computes),
    ("queue", Load::Computes),
    ("blocking", Load::Waits),
    ("cancellation", Load::Computes),
    ("schedule", Load::Computes),
    ("lock", Load::Computes),
    ("broken", Load::Computes),
    ("model", Load::Computes),
];

/// The place of a job in [`KNOWN`], by its whole name or by the part before the source.
fn place(name: &str) -> usize {
    let short = name.split_once(" (").map_or(name, |(short, _)| short);
    let is_it = |(known, _): &(&str, Load)| *known == name || *known == short;
    KNOWN.iter().position(is_it).unwrap_or(KNOWN.len())
}

pub(crate) fn load(name: &str) -> Load {
    KNOWN
        .get(place(name))
        .map_or(Load::Waits, |(_, load)| *load)
}

/// Of the jobs that are `left`, the one to begin beside those that are `running`; `None` while
/// there is no room. At most `room` run at a time, one more than there are processors. One that
/// computes keeps two of them busy, so more begin only when nothing else is left.
pub(crate) fn next(left: &[&str], running: &[&str], room: usize) -> Option<usize> {
    if running.len() >= room {
        return None;
    }
    let computes = |name: &&str| load(name) == Load::Computes;
    let most = (room.saturating_sub(1) / 2).max(1);
    let is_busy =
        running.iter().filter(|name| computes(name)).count() >= most && !left.iter().all(computes);
    let fits = |(_, name): &(usize, &&str)| !(is_busy && computes(name));
    let fitting = left.iter().enumerate().filter(fits);
    fitting
        .min_by_key(|(_, name)| place(name))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in the order in which they begin, if each ends before the next begins.
    fn one_by_one(mut left: Vec<&str>) -> Vec<&str> {
        let mut order = Vec::new();
        while let Some(index) = next(&left, &[], 1) {
            order.push(left.remove(index));
        }
        order
    }

    #[test]
    fn the_longest_begin_first_and_unknown_ones_come_last_in_their_order() {
        let left = vec![
            "new (tests/new.rs)",
            "blocking (tests/blocking/main.rs)",
            "x",
            "zookeeper",
        ];
        let expected = [
            "zookeeper",
            "blocking (tests/blocking/main.rs)",
            "new (tests/new.rs)",
            "x",
        ];
        assert_eq!(one_by_one(left), expected);
    }

    #[test]
    fn one_that_computes_runs_beside_those_that_wait() {
        let left = ["engine", "contention", "redis"];
        assert_eq!(next(&left, &["zookeeper"], 3), Some(1));
        assert_eq!(next(&left, &["zookeeper", "lock"], 3), Some(2));
    }

    #[test]
    fn two_compute_together_only_when_nothing_else_is_left() {
        assert_eq!(next(&["engine", "redis"], &["lock"], 3), Some(1));
        assert_eq!(next(&["engine"], &["lock"], 3), Some(0));
        // With four processors there is room for two.
        assert_eq!(next(&["engine", "redis"], &["lock"], 5), Some(1));
        assert_eq!(next(&["engine", "x"], &["lock"], 5), Some(0));
    }

    #[test]
    fn there_is_room_for_so_many() {
        assert_eq!(next(&["x"], &["a", "b"], 2), None);
        assert_eq!(next(&["x"], &["a", "b"], 3), Some(0));
        assert_eq!(next(&[], &[], 3), None);
    }

    #[test]
    fn programs_of_the_same_name_are_told_apart_by_their_source() {
        assert_eq!(load("tenure (unittests src/lib.rs)"), Load::Computes);
        assert_eq!(load("tenure (unittests src/main.rs)"), Load::Waits);
    }
}
