//! [`Rules`]: when a combination is won, and how long it may take.

use std::time::Duration;

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::model::LeaseTerms;

/// How the nodes of a combination decide together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Leftmost weight: locked from left to right, and lost at the first node
    /// that another holds. Won when every node that answers is locked.
    #[default]
    Leftmost,
    /// Majority: won when more than half of the nodes are locked, also
    /// when another holds the rest.
    Majority,
}

/// What the builder was told. `None`: as usual.
#[derive(Clone, Debug)]
pub(crate) struct Wishes {
    pub(crate) mode: Mode,
    pub(crate) min_available: Option<usize>,
    pub(crate) allow_disjoint_holders: bool,
    pub(crate) expiry: Duration,
    pub(crate) node_operation_time: Option<Duration>,
    pub(crate) acquire_timeout: Option<Duration>,
    pub(crate) probe_max: Duration,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            mode: Mode::Leftmost,
            min_available: None,
            allow_disjoint_holders: false,
            expiry: Duration::from_secs(30),
            node_operation_time: None,
            acquire_timeout: None,
            probe_max: Duration::from_secs(15 * 60),
        }
    }
}

/// The usual time for one node.
const NODE_OPERATION_TIME: Duration = Duration::from_millis(50);

/// What is added for all nodes together.
const BASE_TIME: Duration = Duration::from_millis(100);

/// Room for the undoing of an attempt before the engine gives the call up.
const SLACK: Duration = Duration::from_secs(1);

/// Wishes that make sense.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(super) mode: Mode,
    /// How many nodes must be locked, and count.
    pub(super) quorum: usize,
    pub(super) acquire_timeout: Duration,
    probe_max: Duration,
    terms: LeaseTerms,
}

impl Rules {
    /// The rules for `nodes` nodes, the slowest of which has
    /// `command_timeout`.
    pub(crate) fn new(wishes: &Wishes, nodes: usize, command_timeout: Duration) -> Result<Self> {
        if nodes < 2 {
            return Err(Error::invalid(format!(
                "a combination lock has at least two nodes, better three, not {nodes}; for one \
                 server there is the reentrant lock of a coordinator"
            )));
        }
        if command_timeout.is_zero() {
            return Err(Error::invalid(
                "the command timeout of a combination lock is longer than zero, as in 5ms",
            ));
        }
        if wishes.probe_max.is_zero() {
            return Err(Error::invalid(
                "the longest pause between two probes of a silent node is longer than zero, as in \
                 15 minutes",
            ));
        }
        let quorum = quorum(wishes, nodes)?;
        let acquire_timeout = acquire_timeout(wishes, nodes, command_timeout)?;
        let expiry = wishes.expiry;
        if expiry < acquire_timeout * 3 {
            return Err(Error::invalid(format!(
                "the expiry of this combination lock is at least three acquire timeouts of \
                 {acquire_timeout:?}, not {expiry:?}: raise the expiry to {:?} or lower the \
                 acquire timeout",
                acquire_timeout * 3
            )));
        }
        // Renewal is due at half the expiry.
        let half = Duration::from_millis(u64::try_from(expiry.as_millis() / 2).unwrap_or(u64::MAX));
        let terms = LeaseTerms::new(half, expiry.saturating_sub(half))
            .and_then(|terms| terms.with_margin(terms.margin().max(drift(expiry))))
            .and_then(|terms| terms.with_call_timeout((acquire_timeout + SLACK).min(expiry / 3)))
            .map_err(|error| {
                Error::invalid(format!(
                    "an expiry of {expiry:?} does not do for a combination lock: {error}"
                ))
            })?;
        Ok(Self {
            mode: wishes.mode,
            quorum,
            acquire_timeout,
            probe_max: wishes.probe_max,
            terms,
        })
    }

    /// How many nodes must be locked.
    pub(crate) fn quorum(&self) -> usize {
        self.quorum
    }

    /// The lease terms of the engine above.
    pub(crate) fn terms(&self) -> LeaseTerms {
        self.terms
    }

    /// The longest pause between two probes of a silent node.
    pub(crate) fn probe_max(&self) -> Duration {
        self.probe_max
    }

    /// The instant until which a quorum of `deadlines` lasts.
    pub(super) fn lasts_until(&self, deadlines: impl Iterator<Item = Moment>) -> Option<Moment> {
        let mut deadlines: Vec<Moment> = deadlines.collect();
        deadlines.sort_unstable_by(|a, b| b.cmp(a));
        deadlines.get(self.quorum - 1).copied()
    }
}

fn quorum(wishes: &Wishes, nodes: usize) -> Result<usize> {
    let majority = nodes / 2 + 1;
    let quorum = wishes.min_available.unwrap_or(majority);
    if quorum == 0 || quorum > nodes {
        return Err(Error::invalid(format!(
            "min_available is from {majority} to {nodes} for {nodes} nodes, not {quorum}"
        )));
    }
    if quorum < majority && wishes.mode == Mode::Majority {
        return Err(Error::invalid(format!(
            "in majority mode min_available is at least {majority} of {nodes} nodes, not {quorum}"
        )));
    }
    if quorum < majority && !wishes.allow_disjoint_holders {
        return Err(Error::invalid(format!(
            "min_available of {quorum} would let two holders win on different halves of the \
             {nodes} nodes: use {majority} or more, or allow_disjoint_holders(true) where two \
             holders at once do no harm"
        )));
    }
    Ok(quorum)
}

fn acquire_timeout(wishes: &Wishes, nodes: usize, command_timeout: Duration) -> Result<Duration> {
    if let Some(timeout) = wishes.acquire_timeout {
        if timeout.is_zero() {
            return Err(Error::invalid(
                "the acquire timeout of a combination lock is longer than zero",
            ));
        }
        if timeout < command_timeout {
            return Err(Error::invalid(format!(
                "the acquire timeout ({timeout:?}) is at least the command timeout \
                 ({command_timeout:?}), better that of each node: one silent node would use it up, \
                 and never be found out"
            )));
        }
        return Ok(timeout);
    }
    let each = match wishes.node_operation_time {
        Some(each) if each < command_timeout => {
            return Err(Error::invalid(format!(
                "the node operation time ({each:?}) is at least the command timeout \
                 ({command_timeout:?}): one silent node would use up the time of the others"
            )));
        }
        Some(each) => each,
        None => NODE_OPERATION_TIME.max(command_timeout),
    };
    let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
    Ok(each.saturating_mul(nodes).saturating_add(BASE_TIME))
}

/// By how much the clocks of this machine and a server may differ over one
/// expiry.
pub(super) fn drift(expiry: Duration) -> Duration {
    expiry / 100 + Duration::from_millis(2)
}

/// How long after an answer a server that then said to be up for `up` counts:
/// once it has been up for one expiry, no holder relies on what it may have
/// forgotten. It says whole seconds, of which the first may be short.
pub(super) fn counts_in(expiry: Duration, up: Duration) -> Duration {
    (expiry + Duration::from_secs(1)).saturating_sub(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn rules(change: impl FnOnce(&mut Wishes), nodes: usize) -> Result<Rules> {
        let mut wishes = Wishes::default();
        change(&mut wishes);
        Rules::new(&wishes, nodes, MS * 5)
    }

    #[test]
    fn usual_rules_are_those_of_the_protocol() {
        for (nodes, quorum, millis) in [(2, 2, 200), (3, 2, 250), (4, 3, 300), (5, 3, 350)] {
            let rules = rules(|_| {}, nodes).unwrap();
            assert_eq!(rules.quorum, quorum);
            assert_eq!(rules.acquire_timeout, MS * millis);
        }
        let rules = rules(|_| {}, 3).unwrap();
        assert_eq!(rules.terms().lease(), Duration::from_secs(30));
        assert_eq!(rules.terms().renew_after(), Duration::from_secs(15));
        assert_eq!(rules.terms().margin(), MS * 302, "1 % and 2 ms");
    }

    #[test]
    fn a_slow_command_makes_room_for_itself() {
        let rules = Rules::new(&Wishes::default(), 3, MS * 500).unwrap();
        assert_eq!(rules.acquire_timeout, MS * 1600);
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_would() {
        type Case = (fn(&mut Wishes), usize, &'static str);
        let cases: [Case; 10] = [
            (|_| {}, 1, "at least two nodes"),
            (|w| w.min_available = Some(2), 4, "use 3 or more"),
            (|w| w.min_available = Some(0), 3, "from 2 to 3"),
            (|w| w.min_available = Some(4), 3, "from 2 to 3"),
            (
                |w| {
                    w.min_available = Some(1);
                    w.allow_disjoint_holders = true;
                    w.mode = Mode::Majority;
                },
                3,
                "in majority mode",
            ),
            (|w| w.expiry = MS * 700, 3, "three acquire timeouts"),
            (|w| w.node_operation_time = Some(MS), 3, "command timeout"),
            (
                |w| w.acquire_timeout = Some(Duration::ZERO),
                3,
                "longer than zero",
            ),
            (
                |w| w.acquire_timeout = Some(MS * 4),
                3,
                "at least the command timeout",
            ),
            (|w| w.probe_max = Duration::ZERO, 3, "15 minutes"),
        ];
        for (change, nodes, hint) in cases {
            let error = rules(change, nodes).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
        let both = rules(
            |w| {
                w.min_available = Some(2);
                w.allow_disjoint_holders = true;
            },
            4,
        );
        assert_eq!(both.unwrap().quorum, 2);
    }

    #[test]
    fn a_quorum_lasts_until_its_first_node_ends() {
        let rules = rules(|_| {}, 3).unwrap();
        let at = Moment::from_nanos;
        let until = |all: &[u64]| rules.lasts_until(all.iter().copied().map(at));
        assert_eq!(until(&[10, 30, 20]), Some(at(20)));
        assert_eq!(until(&[10, 30]), Some(at(10)));
        assert_eq!(until(&[30]), None);
    }

    #[test]
    fn a_server_counts_once_it_has_surely_been_up_for_an_expiry() {
        let expiry = Duration::from_secs(30);
        let seconds = Duration::from_secs;
        assert_eq!(counts_in(expiry, seconds(0)), seconds(31));
        assert_eq!(counts_in(expiry, seconds(30)), seconds(1));
        assert_eq!(counts_in(expiry, seconds(31)), seconds(0));
    }
}
