//! Who owned from when until when, on one clock.

use rustix::time::{ClockId, clock_gettime};

/// One turn of one owner, as it owned for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) of_jvm: bool,
    /// In nanoseconds, as [`now`] counts them.
    pub(crate) from: u64,
    pub(crate) until: u64,
    /// 0 where there is none.
    pub(crate) token: u64,
}

/// The machine's monotonic clock, which `System.nanoTime` reads too.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let part = |number: i64| u64::try_from(number).expect("it counts from the machine's start");
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}

/// Pairs of turns that share a moment.
pub(crate) fn overlaps(turns: &mut [Turn]) -> Vec<(Turn, Turn)> {
    turns.sort_by_key(|turn| turn.from);
    let mut found = Vec::new();
    let mut last: Option<Turn> = None;
    for turn in turns.iter() {
        match last {
            Some(before) if before.until > turn.from => {
                found.push((before, *turn));
                if turn.until > before.until {
                    last = Some(*turn);
                }
            }
            _ => last = Some(*turn),
        }
    }
    found
}

#[test]
fn turns_that_share_a_moment_are_found() {
    let turn = |from, until| Turn {
        of_jvm: false,
        from,
        until,
        token: 0,
    };
    assert!(overlaps(&mut [turn(5, 9), turn(1, 5), turn(9, 10)]).is_empty());
    assert_eq!(
        overlaps(&mut [turn(1, 9), turn(2, 3), turn(8, 12)]).len(),
        2
    );
}
