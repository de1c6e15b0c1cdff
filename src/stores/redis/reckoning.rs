//! [`Reckoning`]: what the clock of a server shows, without asking it each time.

use std::time::Duration;

use crate::clock::Moment;
use crate::sync::Mutex;

/// For how long what a server said is carried on. Within it no clock is wrong by
/// more than a server's may be, and the server is asked once in all that time.
const FRESH: Duration = Duration::from_secs(1);

/// How long an answer may have taken, of which the way back is a part: by that much the
/// clock is behind what it is reckoned from.
const PROMPT: Duration = Duration::from_millis(50);

/// The clock at the other end of one connection, carried on by the local clock, and
/// not ahead of it unless that is set back: an answer is younger than the time that it says, and a local
/// clock that is too fast is allowed for.
#[derive(Debug, Default)]
pub(super) struct Reckoning(Mutex<Option<ToldTime>>);

#[derive(Clone, Copy, Debug)]
struct ToldTime {
    micros: u64,
    heard: Moment,
}

impl Reckoning {
    /// The server said that it was this microsecond, to what was asked at `asked`; heard
    /// at `heard`.
    pub(super) fn heard(&self, digits: &[u8], asked: Moment, heard: Moment) {
        if heard.since(asked) > PROMPT {
            return;
        }
        let micros = std::str::from_utf8(digits).ok();
        let micros = micros.and_then(|digits| digits.parse().ok());
        *self.0.lock() = micros.map(|micros| ToldTime { micros, heard });
    }

    /// The microsecond that it shows at `now`, if it has said so lately.
    pub(super) fn at(&self, now: Moment) -> Option<u64> {
        let said = (*self.0.lock())?;
        let passed = now.since(said.heard);
        let is_fresh = now >= said.heard && passed < FRESH;
        // A tenth is more than any clock is too fast by, and more than a server's is
        // slowed down by where it is led back to the time.
        let counted = passed - passed / 10;
        is_fresh.then(|| said.micros + counted.as_micros() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Moment {
        Moment::from_nanos(micros * 1000)
    }

    #[test]
    fn it_is_carried_on_for_a_second_and_never_ahead() {
        let reckoning = Reckoning::default();
        assert_eq!(reckoning.at(at(5)), None);
        reckoning.heard(b"1700000000000000", at(900), at(1_000));
        // Of before it was heard nothing is known.
        assert_eq!(reckoning.at(at(999)), None);
        assert_eq!(reckoning.at(at(1_000)), Some(1_700_000_000_000_000));
        assert_eq!(reckoning.at(at(101_000)), Some(1_700_000_000_090_000));
        assert!(reckoning.at(at(1_000_999)).is_some());
        assert_eq!(reckoning.at(at(1_001_000)), None);
        reckoning.heard(b"1700000005000000", at(2_000_000), at(2_000_000));
        assert_eq!(reckoning.at(at(2_000_000)), Some(1_700_000_005_000_000));
        // Who heard it late does not know how late.
        let late = at(2_000_001) + PROMPT;
        reckoning.heard(b"1700000006000000", at(2_000_000), late);
        let since = reckoning.at(at(2_100_000));
        assert_eq!(since, Some(1_700_000_005_090_000));
        reckoning.heard(b"no number", at(2_000_000), at(2_000_000));
        assert_eq!(reckoning.at(at(2_000_000)), None);
    }
}
