//! What happens in the demo, and what was expected of it.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure::lock::Fence;
use tenure::model::FencingToken;

use super::PATIENCE;
use super::contender::{Did, Said};
use super::live::Live;
use super::processes::{NAMES, Processes};
use super::record::{ProcessState, Record, Tone};
use crate::output::{self, brief};

/// As often the viewer is shown what there is to see.
const GLANCE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Story {
    pub(super) record: Record,
    /// The screen, for a person who watches; others read lines, each when it
    /// happens.
    live: Option<Live>,
    processes: Processes,
    /// The resource that leaders write to: it looks at tokens only.
    fence: Fence,
    struck: Option<Instant>,
    /// Who has stepped down last, by its own clock.
    pub(super) deposed: Option<usize>,
    /// Whose writes stay on the way, and what it has sent since.
    held_back: Option<(usize, Vec<Said>)>,
    /// What was expected, and held.
    fulfilled: Vec<String>,
}

impl Story {
    pub(super) fn open(title: &str, processes: Processes) -> Self {
        let pids: Vec<u32> = processes.pids().collect();
        let mut story = Self {
            record: Record::new(pids.iter().copied()),
            live: Live::begin(),
            processes,
            fence: Fence::new(),
            struck: None,
            deposed: None,
            held_back: None,
            fulfilled: Vec::new(),
        };
        story.note("demo", title, Tone::Plain);
        for (name, pid) in NAMES.into_iter().zip(pids) {
            story.note(name, format!("starts as process {pid}"), Tone::Plain);
        }
        story
    }

    pub(super) fn is_watched(&self) -> bool {
        self.live.is_some()
    }

    fn note(&mut self, who: &'static str, what: impl Into<String>, tone: Tone) {
        let note = self.record.note(who, what, tone);
        if self.live.is_none() {
            output::data(note);
        }
    }

    /// Notes that `holds` was expected; an error when it does not hold.
    pub(super) fn expect(&mut self, holds: bool, what: impl Into<String>) -> Result<(), String> {
        let what = what.into();
        if !holds {
            return Err(format!("expected: {what}"));
        }
        self.fulfilled.push(what);
        Ok(())
    }

    /// Listens until it `has` come so far; an error if that takes too long.
    pub(super) async fn until(
        &mut self,
        has: impl Fn(&Self) -> bool,
        what: &str,
    ) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while !has(self) {
            if Instant::now() > end {
                return Err(format!("expected within {}: {what}", brief(PATIENCE)));
            }
            if let Some(live) = &mut self.live {
                live.show(&self.record);
            }
            let Ok(heard) = tokio::time::timeout(GLANCE, self.processes.next()).await else {
                continue;
            };
            let (who, said) = heard.ok_or("expected: one is left to lead; all have died")?;
            self.hear(who, said)?;
        }
        Ok(())
    }

    fn hear(&mut self, who: usize, said: Said) -> Result<(), String> {
        if let Some((late, kept)) = &mut self.held_back
            && *late == who
            && (is_write(&said) || said == Said::Gone)
        {
            kept.push(said);
            return Ok(());
        }
        match said {
            Said::Act(act) => {
                let leader = self.record.leader();
                if leader.is_none_or(|(_, token, _)| token < act.token) {
                    self.record.processes[who].state = ProcessState::Leading;
                }
                match act.did {
                    Did::Write(number) => self.write(who, act.token, number)?,
                    Did::Tick { number, late } => self.tick(who, number, late),
                }
                self.record.acts.push((who, act));
            }
            Said::Deposed => {
                self.record.processes[who].state = ProcessState::Waiting;
                self.deposed = Some(who);
                let what = "its own clock says that its term is over: writes nothing";
                self.note(NAMES[who], what, Tone::Plain);
            }
            Said::Trouble(what) => self.note(NAMES[who], what, Tone::Bad),
            Said::Gone => self.record.processes[who].is_gone = true,
        }
        Ok(())
    }

    /// The resource: it knows no leader, only the largest token it has seen.
    fn write(&mut self, who: usize, token: u64, number: u64) -> Result<(), String> {
        let name = NAMES[who];
        let token = FencingToken::from_value(token).map_err(|error| error.to_string())?;
        if self.fence.admit(token).is_err() {
            self.record.refused += 1;
            let what = format!("REFUSES write {number} of {name}: token {token} is stale");
            self.note("resource", what, Tone::Bad);
            return Ok(());
        }
        let writes = &mut self.record.processes[who].writes;
        *writes += 1;
        // The first ones; the rest would only be noise.
        if *writes <= 2 {
            let what = format!("accepts write {number} of {name}, token {token}");
            self.note("resource", what, Tone::Plain);
        }
        Ok(())
    }

    /// A run of the schedule; told are the first and those after a take-over.
    fn tick(&mut self, who: usize, number: u64, late: Duration) {
        let (name, late) = (NAMES[who], brief(late));
        let what = match self.record.ticks().max() {
            None => format!("begins: {name} runs tick {number}"),
            Some((last, by, _)) if by != who && last < number => {
                format!("goes on: {name} runs tick {number}, due {late} ago")
            }
            Some(_) => return,
        };
        self.note("schedule", what, Tone::Plain);
    }

    /// Waits for another than `before` to be elected.
    pub(super) async fn election(
        &mut self,
        before: Option<usize>,
        how: &str,
    ) -> Result<usize, String> {
        let next = |story: &Self| {
            let leader = story.record.leader();
            leader.filter(|(who, ..)| Some(*who) != before)
        };
        let is_there = |story: &Self| next(story).is_some();
        self.until(is_there, "another is elected").await?;
        let (who, token, _) = next(self).expect("there is one");
        let after = |at: Instant| format!(" after {}", brief(at.elapsed()));
        let after = self.struck.take().map(after).unwrap_or_default();
        let what = format!("{how}{after}, token {token}");
        self.note(NAMES[who], what, Tone::Good);
        Ok(who)
    }

    /// Waits until `count` writes of `who` have been accepted from now on.
    pub(super) async fn writes(&mut self, who: usize, count: u64) -> Result<(), String> {
        let goal = self.record.processes[who].writes + count;
        let has_written = |story: &Self| story.record.processes[who].writes >= goal;
        self.until(has_written, "the leader writes").await
    }

    /// Leaves the requests of `who` on the way, and waits until there is one.
    pub(super) async fn hold_back(&mut self, who: usize) -> Result<(), String> {
        self.held_back = Some((who, Vec::new()));
        let has_sent = |story: &Self| {
            let mut held_back = story.held_back.iter();
            held_back.any(|(_, kept)| kept.iter().any(is_write))
        };
        self.until(has_sent, "the leader writes").await
    }

    /// Lets the late requests of the dead `who` arrive: all must be refused.
    pub(super) async fn let_through(&mut self, who: usize) -> Result<(), String> {
        let what = "is dead, but what it sent arrives only now";
        self.note(NAMES[who], what, Tone::Plain);
        let counts = |story: &Self| (story.record.processes[who].writes, story.record.refused);
        let before = counts(self);
        for said in self.held_back.take().into_iter().flat_map(|(_, late)| late) {
            self.hear(who, said)?;
        }
        let is_gone = |story: &Self| story.record.processes[who].is_gone;
        self.until(is_gone, "the line of the dead leader ends")
            .await?;
        let (accepted, refused) = counts(self);
        let is_refused = accepted == before.0 && refused > before.1;
        let what = "the late write of the dead leader was refused by its token";
        self.expect(is_refused, what)
    }

    pub(super) fn signal(&mut self, who: usize, signal: Signal, what: &str) {
        let (tone, state) = match signal {
            Signal::KILL => (Tone::Bad, ProcessState::Killed),
            Signal::STOP => (Tone::Bad, ProcessState::Paused),
            Signal::TERM => (Tone::Plain, ProcessState::Ended),
            _ => (Tone::Plain, ProcessState::Waiting),
        };
        self.note(NAMES[who], what, tone);
        self.record.processes[who].state = state;
        self.processes.signal(who, signal);
        self.struck = (signal != Signal::CONT).then(Instant::now);
    }

    /// Ends all who are left, and judges the whole record.
    pub(super) async fn dismiss(&mut self) -> Result<(), String> {
        (0..NAMES.len()).for_each(|who| self.processes.signal(who, Signal::TERM));
        let are_gone = |story: &Self| story.record.processes.iter().all(|process| process.is_gone);
        self.until(are_gone, "all end when told to").await?;
        let mut judged = self.record.judged().into_iter();
        judged.try_for_each(|(holds, what)| self.expect(holds, what))
    }

    /// The summary, on the normal screen; `why` is why it failed, if it did.
    pub(super) fn close(mut self, why: Option<&str>) {
        let was_watched = self.live.take().is_some();
        if let Some(why) = why {
            // A reader is told what a watcher has seen.
            for note in self.record.notes.iter().filter(|_| was_watched) {
                output::data(note);
            }
            self.note("demo", format!("FAILED: {why}"), Tone::Bad);
        }
        let (terms, refused) = (self.record.terms().len(), self.record.refused);
        let accepted = self.record.accepted();
        let what =
            format!("{terms} terms of office, {accepted} writes accepted, {refused} refused");
        self.note("demo", what, Tone::Plain);
        for what in &self.fulfilled {
            output::data(&format_args!("    ok  {what}"));
        }
    }
}

fn is_write(said: &Said) -> bool {
    matches!(said, Said::Act(act) if matches!(act.did, Did::Write(_)))
}
