//! What happens in the demo, told line by line, and what was expected of it.

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure::lock::Fence;
use tenure::model::FencingToken;

use super::PATIENCE;
use super::troupe::{Said, Troupe};
use crate::output::brief;

/// Somebody's term of office.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) who: usize,
}

#[derive(Debug)]
pub(super) struct Stage {
    start: Instant,
    troupe: Option<Troupe>,
    /// The resource that leaders write to: it looks at tokens only.
    fence: Fence,
    accepted: Vec<u64>,
    refused: u64,
    terms: Vec<u64>,
    struck: Option<Instant>,
    held: Vec<String>,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            troupe: None,
            fence: Fence::new(),
            accepted: Vec::new(),
            refused: 0,
            terms: Vec::new(),
            struck: None,
            held: Vec::new(),
        }
    }

    /// One line.
    pub(super) fn note(&self, who: &str, what: &str) {
        let at = self.start.elapsed().as_secs_f64();
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(stdout, "{at:6.2}s  {who:<9} {what}");
        let _ = stdout.flush();
    }

    pub(super) fn open(&mut self, url: &str) -> Result<(), String> {
        let troupe = Troupe::start(url).map_err(|error| format!("cannot start: {error}"))?;
        for who in 0..troupe.len() {
            let what = format!("starts as process {}", troupe.pid(who));
            self.note(troupe.name(who), &what);
        }
        self.accepted = vec![0; troupe.len()];
        self.troupe = Some(troupe);
        Ok(())
    }

    fn troupe(&mut self) -> &mut Troupe {
        self.troupe.as_mut().expect("the stage is open")
    }

    fn name(&mut self, who: usize) -> &'static str {
        self.troupe().name(who)
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

    /// Listens until somebody says what is `wanted`; `None` after `limit`.
    pub(super) async fn until(
        &mut self,
        limit: Duration,
        wanted: impl Fn(usize, &Said) -> bool,
    ) -> Result<Option<(usize, Said)>, String> {
        let end = tokio::time::Instant::now() + limit;
        loop {
            let next = tokio::time::timeout_at(end, self.troupe().next()).await;
            let Ok(heard) = next else { return Ok(None) };
            let (who, said) = heard.ok_or("all contenders have died")?;
            self.hear(who, &said)?;
            if wanted(who, &said) {
                return Ok(Some((who, said)));
            }
        }
    }

    fn hear(&mut self, who: usize, said: &Said) -> Result<(), String> {
        let name = self.name(who);
        match said {
            Said::Write { token, number } => self.write(who, *token, *number)?,
            Said::Deposed(_) => self.note(
                name,
                "its own clock says that its term is over: writes nothing",
            ),
            Said::Trouble(what) => self.note(name, what),
            Said::Standing | Said::Elected(_) | Said::Gone => {}
        }
        Ok(())
    }

    /// The resource: it knows no leader, only the largest token it has seen.
    fn write(&mut self, who: usize, token: u64, number: u64) -> Result<(), String> {
        let name = self.name(who);
        let token = FencingToken::from_value(token).map_err(|error| error.to_string())?;
        match self.fence.admit(token) {
            Ok(()) => {
                self.accepted[who] += 1;
                // The first of each term; the rest would only be noise.
                if self.accepted[who] <= 2 {
                    self.note(
                        "resource",
                        &format!("accepts write {number} of {name}, token {token}"),
                    );
                }
            }
            Err(stale) => {
                self.refused += 1;
                self.note(
                    "resource",
                    &format!("REFUSES write {number} of {name}: {stale}"),
                );
            }
        }
        Ok(())
    }

    /// Waits for somebody else than in the term `before` to be elected.
    pub(super) async fn election(
        &mut self,
        before: Option<&Term>,
        how: &str,
    ) -> Result<Term, String> {
        let other = before.map(|term| term.who);
        let heard = self
            .until(PATIENCE, |who, said| {
                Some(who) != other && matches!(said, Said::Elected(_))
            })
            .await?;
        let Some((who, Said::Elected(token))) = heard else {
            return Err(format!("nobody was elected within {}", brief(PATIENCE)));
        };
        let struck = self.struck.take();
        let after = struck.map_or_else(String::new, |at| format!(" after {}", brief(at.elapsed())));
        let name = self.name(who);
        self.note(name, &format!("{how}{after}, token {token}"));
        let last = self.terms.last().copied();
        self.terms.push(token);
        self.expect(
            last.is_none_or(|last| last < token),
            "every leader's token is larger than the one before",
        )?;
        Ok(Term { who })
    }

    /// Waits until `count` writes of `who` have been accepted from now on.
    pub(super) async fn writes(&mut self, who: usize, count: u64) -> Result<(), String> {
        let goal = self.accepted[who] + count;
        while self.accepted[who] < goal {
            let heard = self
                .until(PATIENCE, |from, said| {
                    from == who && matches!(said, Said::Write { .. })
                })
                .await?;
            if heard.is_none() {
                return Err(format!("{} does not write", self.name(who)));
            }
        }
        Ok(())
    }

    /// Leaves the requests of `who` on the way, and waits until there is one.
    pub(super) async fn hold_back(&mut self, who: usize) -> Result<(), String> {
        self.troupe().hold_back(who, true);
        let end = Instant::now() + PATIENCE;
        while !self.troupe().has_sent(who) {
            if Instant::now() > end {
                return Err("the leader does not write".into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Lets the late requests of `who` arrive: all must be refused.
    pub(super) async fn let_through(&mut self, who: usize) -> Result<(), String> {
        let name = self.name(who);
        self.note(name, "is dead, but what it sent arrives only now");
        let (accepted, refused) = (self.accepted[who], self.refused);
        self.troupe().hold_back(who, false);
        self.until(PATIENCE, |from, said| from == who && *said == Said::Gone)
            .await?;
        self.expect(
            self.accepted[who] == accepted && self.refused > refused,
            "the late write of the dead leader was refused by its token",
        )
    }

    pub(super) fn signal(&mut self, who: usize, signal: Signal, what: &str) {
        let name = self.name(who);
        self.note(name, what);
        self.troupe().signal(who, signal);
        self.struck = (signal != Signal::CONT).then(Instant::now);
    }

    /// Ends all who are left.
    pub(super) async fn dismiss(&mut self) -> Result<(), String> {
        for who in 0..self.troupe().len() {
            self.troupe().signal(who, Signal::TERM);
        }
        let end = async { while self.troupe().next().await.is_some() {} };
        let ended = tokio::time::timeout(PATIENCE, end).await;
        self.expect(ended.is_ok(), "everyone ended when told to")
    }

    /// The summary; false when nothing was shown.
    pub(super) fn close(&mut self) -> bool {
        self.troupe = None;
        let writes: u64 = self.accepted.iter().sum();
        self.note(
            "demo",
            &format!(
                "{} terms of office, {writes} writes accepted, {} refused",
                self.terms.len(),
                self.refused
            ),
        );
        for what in &self.held {
            println!("    ok  {what}");
        }
        !self.held.is_empty()
    }
}
