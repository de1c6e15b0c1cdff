//! When the guardian does what.

/// What is to be done to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Terminate,
    Kill,
}

/// One group and its deadline, in nanoseconds of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    until: u64,
    grace: u64,
    done: Option<Act>,
}

impl Deadline {
    pub(super) fn new(until: u64, grace: u64) -> Self {
        let done = None;
        Self { until, grace, done }
    }

    /// Moves the deadline. A group that was told to end is not told again
    /// before the new one is near; a group that was killed stays dead.
    pub(super) fn move_to(&mut self, until: u64) {
        self.until = until;
        if self.done == Some(Act::Terminate) {
            self.done = None;
        }
    }

    /// Asks so long before the deadline.
    pub(super) fn ask_before(&mut self, grace: u64) {
        self.grace = grace;
    }

    /// When the next act is due; `None` after the last.
    pub(super) fn due(&self) -> Option<u64> {
        match self.done {
            None if self.grace > 0 => Some(self.until.saturating_sub(self.grace)),
            None | Some(Act::Terminate) => Some(self.until),
            Some(Act::Kill) => None,
        }
    }

    /// What is due at `now`.
    pub(super) fn act(&mut self, now: u64) -> Option<Act> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        let act = if now >= self.until {
            Act::Kill
        } else {
            Act::Terminate
        };
        self.done = Some(act);
        Some(act)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_asked_to_end_and_then_made_to() {
        let mut deadline = Deadline::new(100, 30);
        assert_eq!((deadline.due(), deadline.act(69)), (Some(70), None));
        assert_eq!(deadline.act(70), Some(Act::Terminate));
        assert_eq!((deadline.due(), deadline.act(99)), (Some(100), None));
        assert_eq!(deadline.act(100), Some(Act::Kill));
        assert_eq!((deadline.due(), deadline.act(1000)), (None, None));
    }

    #[test]
    fn a_renewal_in_time_spares_it() {
        let mut deadline = Deadline::new(100, 30);
        deadline.move_to(200);
        assert_eq!(deadline.act(170 - 1), None);
        assert_eq!(deadline.act(170), Some(Act::Terminate));
        deadline.move_to(300);
        assert_eq!(deadline.act(200), None);
        assert_eq!(deadline.act(270), Some(Act::Terminate));
    }

    #[test]
    fn who_comes_late_kills_at_once() {
        assert_eq!(Deadline::new(100, 30).act(5000), Some(Act::Kill));
        assert_eq!(Deadline::new(10, 30).act(0), Some(Act::Terminate));
    }

    #[test]
    fn without_grace_there_is_no_asking() {
        let mut deadline = Deadline::new(100, 0);
        assert_eq!((deadline.due(), deadline.act(99)), (Some(100), None));
        assert_eq!(deadline.act(100), Some(Act::Kill));
    }

    #[test]
    fn the_dead_stay_dead() {
        let mut deadline = Deadline::new(100, 30);
        assert_eq!(deadline.act(100), Some(Act::Kill));
        deadline.move_to(1000);
        assert_eq!(deadline.due(), None);
    }
}
