//! How contentions behave: those of a coordinator, and one of them.

use std::time::Duration;

use crate::backend::Nonce;
use crate::clock::Sight;
use crate::model::{ContenderId, Jitter, LeaseTerms, MutexName, Purpose};

/// How contentions of a coordinator behave.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) terms: LeaseTerms,
    pub(crate) jitter: Jitter,
    pub(crate) initial_delay: Duration,
    pub(crate) quiesce: Duration,
    /// Whether callbacks run where they arise: for simulations only.
    pub(crate) inline_callbacks: bool,
}

/// How long a contention goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One attempt.
    Try,
    /// Until one tenure has been won and has ended.
    Once,
    /// For ever: after each tenure it stands again.
    Always,
}

/// How one contention behaves: all that a machine needs to know.
#[derive(Clone, Debug)]
pub(crate) struct ContentionSettings {
    pub(crate) purpose: Purpose,
    pub(crate) name: MutexName,
    pub(crate) contender: ContenderId,
    /// Whether no other contender carries this id.
    pub(crate) unique_id: bool,
    /// Whether others count up the same fence.
    pub(crate) shares_fence: bool,
    pub(crate) terms: LeaseTerms,
    pub(crate) mode: Mode,
    pub(crate) jitter: Jitter,
    /// The longest between two looks of a waiter.
    pub(crate) safety_look: Duration,
    /// Before the first bid.
    pub(crate) initial_delay: Duration,
    /// After a tenure that was given up freely: how long others are let first.
    pub(crate) courtesy: Duration,
    /// How long the local side may take to end when it is stopped.
    pub(crate) quiesce: Duration,
}

/// How a contention begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    /// What the clocks show.
    pub(crate) sent: Sight,
    /// Whether it has been seen, in the same breath, that this process is the one
    /// that connected.
    pub(crate) is_at_home: bool,
    /// For a first bid that is made at once.
    pub(crate) nonce: Option<Nonce>,
}
