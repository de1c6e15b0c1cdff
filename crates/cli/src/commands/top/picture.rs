//! [`Picture`]: what was seen last, how looking goes, and what of it is wanted.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tenure::Retry;
use tenure_dashboard::looks::Answer;
use tenure_dashboard::status::Row;

use super::controls::Controls;
use super::history::History;
use super::kinds::Kinds;
use crate::exit::{Failure, told};
use crate::view::Key;

/// All that is drawn.
#[derive(Debug)]
pub(super) struct Picture {
    /// The scheme of the store's URLs.
    pub(super) store: &'static str,
    pub(super) lease: Duration,
    pub(super) rows: Vec<Row>,
    /// How many of them are owned, and how many wait for them.
    pub(super) owned: usize,
    pub(super) waiting: usize,
    /// Which of the rows are shown, in this order.
    pub(super) shown: Vec<usize>,
    /// When they were seen.
    pub(super) at: Option<Instant>,
    /// How long the store took to tell them.
    pub(super) took: Option<Duration>,
    /// What keeps it from being seen anew.
    pub(super) trouble: Option<String>,
    pub(super) history: History,
    pub(super) kinds: Kinds,
    pub(super) controls: Controls,
}

impl Picture {
    pub(super) fn new(store: &'static str, lease: Duration) -> Self {
        Self {
            store,
            lease,
            rows: Vec::new(),
            owned: 0,
            waiting: 0,
            shown: Vec::new(),
            at: None,
            took: None,
            trouble: None,
            history: History::begin(Instant::now()),
            kinds: Kinds::default(),
            controls: Controls::default(),
        }
    }

    /// Takes what a look told, or what trouble there is with it. Fails when
    /// looking again cannot help.
    pub(super) fn hear_of(
        &mut self,
        answer: Answer,
        took: Duration,
        at: Instant,
    ) -> Result<(), Failure> {
        let told = match answer {
            Err(error) if error.retry() == Retry::Never => return Err(error.into()),
            Err(error) => {
                self.trouble = Some(told(&error));
                return Ok(());
            }
            Ok(told) => told,
        };
        self.trouble = match (&told.cut, told.age) {
            (Some(error), _) if error.retry() == Retry::Never => return Err(error.clone().into()),
            (Some(error), _) => Some(format!("not all: {}", self::told(error))),
            // What was seen last stays, with its age.
            (None, Some(_)) => {
                self.trouble = Some("the store takes its time".to_owned());
                return Ok(());
            }
            (None, None) => None,
        };
        self.rows.clone_from(&told.rows);
        (self.at, self.took) = (Some(at), Some(took));
        self.kinds.tell(&mut self.rows, at);
        let is_whole = told.cut.is_none();
        self.history.hear_of(&self.rows, is_whole, at);
        if is_whole {
            // What is free is forgotten by many stores, and not yet by who looks.
            self.rows.extend(self.history.gone());
        }
        self.arrange();
        Ok(())
    }

    /// Does what a key asks for; breaks when that is the end.
    pub(super) fn hear(&mut self, key: Key) -> ControlFlow<()> {
        let before = self.controls.order.clone();
        let names = |at: usize| self.rows[self.shown[at]].name.clone();
        let selected = self.selected();
        self.controls.hear(key, selected, self.shown.len(), names)?;
        if self.controls.order != before {
            self.arrange();
        }
        ControlFlow::Continue(())
    }

    /// Finds out which rows are shown, and in which order.
    pub(super) fn arrange(&mut self) {
        // Once, not for every frame: there may be tens of thousands.
        self.owned = self.rows.iter().filter(|row| row.owner.is_some()).count();
        self.waiting = self.rows.iter().map(|row| row.waiters.len()).sum();
        self.shown = self.controls.order.of(&self.rows, &self.history);
    }

    /// Which of those shown is selected; rows come and go.
    pub(super) fn selected(&self) -> Option<usize> {
        let selected = self.controls.selected.as_ref()?;
        let is_it = |at: &usize| self.rows[*at].name == *selected;
        let at = self.controls.selected_at;
        match self.shown.get(at).is_some_and(is_it) {
            true => Some(at),
            false => self.shown.iter().position(is_it),
        }
    }

    /// How old it is.
    pub(super) fn age(&self, now: Instant) -> Duration {
        self.at
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at))
    }
}
