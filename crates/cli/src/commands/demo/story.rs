//! What happens in the demo, and what was expected of it.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure::lock::Fence;
use tenure::model::FencingToken;

use super::PATIENCE;
use super::history::History;
use super::live::Live;
use super::picture::{Picture, ProcessState, Tone};
use super::processes::{Processes, Said};
use crate::output::{self, brief};

/// As often the viewer is shown what there is to see.
const GLANCE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Story {
    pub(super) picture: Picture,
    /// The screen, for a person who watches; others read lines, each when it
    /// happens.
    live: Option<Live>,
    processes: Option<Processes>,
    /// The resource that leaders write to: it looks at tokens only.
    fence: Fence,
    history: History,
    struck: Option<Instant>,
    held: Vec<String>,
}

impl Story {
    pub(super) fn new() -> Self {
        Self {
            picture: Picture::new(),
            live: Live::begin(),
            processes: None,
            fence: Fence::new(),
            history: History::default(),
            struck: None,
            held: Vec::new(),
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.live.is_some()
    }

    fn show(&mut self) {
        if let Some(live) = &mut self.live {
            live.show(&self.picture);
        }
    }

    pub(super) fn note(&mut self, who: &str, what: &str) {
        self.exclaim(who, what, Tone::Plain);
    }

    fn exclaim(&mut self, who: &str, what: &str, tone: Tone) {
        let note = self.picture.note(who, what, tone);
        if self.live.is_none() {
            output::data(note);
        }
    }

    pub(super) fn open(&mut self, url: &str) -> Result<(), String> {
        let processes = Processes::start(url).map_err(|error| format!("cannot start: {error}"))?;
        for (name, pid) in processes.list() {
            self.picture.enter(name, pid);
            self.note(name, &format!("starts as process {pid}"));
        }
        self.processes = Some(processes);
        Ok(())
    }

    fn processes(&mut self) -> &mut Processes {
        self.processes.as_mut().expect("the story is open")
    }

    fn name(&self, who: usize) -> &'static str {
        self.picture.list[who].name
    }

    fn writes_of(&self, who: usize) -> u64 {
        self.picture.list[who].writes
    }

    /// Notes that `holds` was expected; an error when it does not hold.
    pub(super) fn expect(&mut self, holds: bool, what: &str) -> Result<(), String> {
        if !holds {
            return Err(format!("expected: {what}"));
        }
        if !self.held.iter().any(|held| held == what) {
            self.held.push(what.to_owned());
        }
        Ok(())
    }

    /// Listens until a process says what is `wanted`; `None` after `limit`.
    pub(super) async fn until(
        &mut self,
        limit: Duration,
        wanted: impl Fn(usize, &Said) -> bool,
    ) -> Result<Option<(usize, Said)>, String> {
        let end = Instant::now() + limit;
        while Instant::now() < end {
            self.show();
            let Ok(heard) = tokio::time::timeout(GLANCE, self.processes().next()).await else {
                continue;
            };
            let (who, said) = heard.ok_or("expected: one is left to lead; all have died")?;
            self.hear(who, &said)?;
            if wanted(who, &said) {
                return Ok(Some((who, said)));
            }
        }
        Ok(None)
    }

    fn hear(&mut self, who: usize, said: &Said) -> Result<(), String> {
        let name = self.name(who);
        match *said {
            Said::Write { token, at, number } => {
                self.history.acted(who, token, at)?;
                self.write(who, token, number)?;
            }
            Said::Tick {
                token,
                at,
                number,
                late,
            } => {
                self.history.acted(who, token, at)?;
                self.history.ran(who, number, at)?;
                self.tick(who, number, late);
            }
            Said::Elected { token, at, until } => {
                self.history.acted(who, token, at)?;
                self.picture.elected(who, token, until);
            }
            Said::Renewed { until } => self.picture.renewed(who, until),
            Said::Deposed => {
                self.picture.list[who].state = ProcessState::Waiting;
                let what = "its own clock says that its term is over: writes nothing";
                self.note(name, what);
            }
            Said::Trouble(ref what) => self.exclaim(name, what, Tone::Bad),
            Said::Gone => {}
        }
        Ok(())
    }

    /// The resource: it knows no leader, only the largest token it has seen.
    fn write(&mut self, who: usize, token: u64, number: u64) -> Result<(), String> {
        let name = self.name(who);
        let token = FencingToken::from_value(token).map_err(|error| error.to_string())?;
        match self.fence.admit(token) {
            Ok(()) => {
                self.picture.list[who].writes += 1;
                // The first of each term; the rest would only be noise.
                if self.writes_of(who) <= 2 {
                    let what = format!("accepts write {number} of {name}, token {token}");
                    self.note("resource", &what);
                }
            }
            Err(_) => {
                self.picture.refused += 1;
                let what = format!("REFUSES write {number} of {name}: token {token} is stale");
                self.exclaim("resource", &what, Tone::Bad);
            }
        }
        Ok(())
    }

    /// A run of the schedule; told are the first and those after a take-over.
    fn tick(&mut self, who: usize, number: u64, late: Duration) {
        let before = self.picture.ticks.last_key_value();
        let before = before.map(|(last, runner)| (*last, *runner));
        self.picture.ticks.insert(number, who);
        self.picture.list[who].ticks += 1;
        let name = self.name(who);
        match before {
            None => self.note("schedule", &format!("begins: {name} runs tick {number}")),
            Some((last, before)) if before != who && last < number => {
                let late = brief(late);
                let what = format!("goes on: {name} runs tick {number}, due {late} ago");
                self.note("schedule", &what);
            }
            Some(_) => {}
        }
    }

    /// Waits for another than `before` to be elected.
    pub(super) async fn election(
        &mut self,
        before: Option<usize>,
        how: &str,
    ) -> Result<usize, String> {
        let is_next =
            |who, said: &Said| Some(who) != before && matches!(said, Said::Elected { .. });
        let heard = self.until(PATIENCE, is_next).await?;
        let Some((who, Said::Elected { token, .. })) = heard else {
            return Err(format!("nobody was elected within {}", brief(PATIENCE)));
        };
        let struck = self.struck.take();
        let after = struck.map_or_else(String::new, |at| format!(" after {}", brief(at.elapsed())));
        let what = format!("{how}{after}, token {token}");
        self.exclaim(self.name(who), &what, Tone::Good);
        self.expect(
            self.history.has_rising_tokens(),
            "every leader's token is larger than the one before",
        )?;
        Ok(who)
    }

    /// Waits until `count` writes of `who` have been accepted from now on.
    pub(super) async fn writes(&mut self, who: usize, count: u64) -> Result<(), String> {
        let goal = self.writes_of(who) + count;
        while self.writes_of(who) < goal {
            let is_write = |from, said: &Said| from == who && matches!(said, Said::Write { .. });
            if self.until(PATIENCE, is_write).await?.is_none() {
                return Err(format!("{} does not write", self.name(who)));
            }
        }
        Ok(())
    }

    /// Leaves the requests of `who` on the way, and waits until there is one.
    pub(super) async fn hold_back(&mut self, who: usize) -> Result<(), String> {
        self.processes().hold_back(who, true);
        let end = Instant::now() + PATIENCE;
        while !self.processes().has_sent_a_write(who) {
            if Instant::now() > end {
                return Err(format!("{} does not write", self.name(who)));
            }
            self.until(GLANCE, |_, _| false).await?;
        }
        Ok(())
    }

    /// Lets the late requests of `who` arrive: all must be refused.
    pub(super) async fn let_through(&mut self, who: usize) -> Result<(), String> {
        let name = self.name(who);
        self.note(name, "is dead, but what it sent arrives only now");
        let (accepted, refused) = (self.writes_of(who), self.picture.refused);
        self.processes().hold_back(who, false);
        self.until(PATIENCE, |from, said| from == who && *said == Said::Gone)
            .await?;
        self.expect(
            self.writes_of(who) == accepted && self.picture.refused > refused,
            "the late write of the dead leader was refused by its token",
        )
    }

    pub(super) fn signal(&mut self, who: usize, signal: Signal, what: &str) {
        let (tone, state) = match signal {
            Signal::KILL => (Tone::Bad, ProcessState::Killed),
            Signal::STOP => (Tone::Bad, ProcessState::Paused),
            Signal::TERM => (Tone::Plain, ProcessState::Ended),
            _ => (Tone::Plain, ProcessState::Waiting),
        };
        self.exclaim(self.name(who), what, tone);
        self.picture.list[who].state = state;
        self.processes().signal(who, signal);
        self.struck = (signal != Signal::CONT).then(Instant::now);
    }

    /// Ends all who are left, and looks at the whole record.
    pub(super) async fn dismiss(&mut self) -> Result<(), String> {
        for who in 0..self.processes().len() {
            self.processes().signal(who, Signal::TERM);
        }
        let end = Instant::now() + PATIENCE;
        loop {
            self.show();
            match tokio::time::timeout(GLANCE, self.processes().next()).await {
                Ok(Some((who, said))) => self.hear(who, &said)?,
                Ok(None) => break,
                Err(_) if Instant::now() < end => {}
                Err(_) => return Err("expected: everyone ends when told to".into()),
            }
        }
        let history = &self.history;
        let (acts, ticks, runners) = (history.acts, history.ticks.len(), history.runners());
        let is_alone = history.has_one_leader_at_a_time();
        let is_once = history.has_ticks_in_order() && runners > 1;
        let alone = format!("one leader at a time, by the record of {acts} acts");
        let once =
            format!("{ticks} ticks of the schedule by {runners} leaders, in order, none twice");
        self.expect(is_alone, &alone)?;
        self.expect(is_once, &once)
    }

    /// The summary, on the normal screen; false when nothing was shown.
    pub(super) fn close(&mut self) -> bool {
        self.processes = None;
        self.live = None;
        let (accepted, refused) = (self.picture.accepted(), self.picture.refused);
        let terms = self.history.terms();
        let what =
            format!("{terms} terms of office, {accepted} writes accepted, {refused} refused");
        self.note("demo", &what);
        for what in &self.held {
            output::data(&format_args!("    ok  {what}"));
        }
        !self.held.is_empty()
    }

    /// Tells a reader what a watcher has seen.
    pub(super) fn recount(&mut self) {
        if self.is_watched() {
            self.live = None;
            for note in &self.picture.notes {
                output::data(note);
            }
        }
    }
}
