//! The world: true time, the events to come, and what each of them does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::AddAssign;
use std::time::Duration;

use super::chance::{Chance, Rates};
use super::judge::{Judge, True};
use super::process::{Cut, Process, moment};
use super::store::{Request, Store, Told};
use crate::backend::{Hint, Nonce};
use crate::engine::event::{Call, Effect, Event, Finish, Stop};
use crate::engine::machine::Machine;
use crate::engine::random::Random;
use crate::engine::settings::{ContentionSettings, Mode};
use crate::engine::wake;
use crate::error::{Error, ErrorKind, LossCause, Outcome};
use crate::model::{ContenderId, Jitter, LeaseTerms, MutexName, Purpose};

/// How far the speeds of two clocks may be apart: what is promised to do no
/// harm.
pub(super) const APART: f64 = 0.002;

/// How long things go wrong, and how long the world then has to recover.
const TROUBLE: True = 20_000_000_000;
const CALM: True = 15_000_000_000;

#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(super) struct Tally {
    pub(super) begun: u64,
    pub(super) lost_by_deadline: u64,
    pub(super) released: u64,
    /// Tenures won after an attempt whose outcome was unknown.
    pub(super) after_unknown: u64,
    /// Tenures that no user picked up.
    pub(super) unclaimed: u64,
    steps: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.begun += other.begun;
        self.lost_by_deadline += other.lost_by_deadline;
        self.released += other.released;
        self.after_unknown += other.after_unknown;
        self.unclaimed += other.unclaimed;
        self.steps += other.steps;
    }
}

/// What comes to pass.
#[derive(Debug)]
enum Coming {
    /// A timer of a process.
    Rings {
        process: usize,
        timer: u64,
    },
    /// A renewal of a process is due.
    Renews {
        process: usize,
        renewal: u64,
        held: crate::backend::Held,
        limit: Duration,
    },
    /// A request reaches the store; `back` is where its answer goes.
    Arrives {
        request: Request,
        back: Option<Back>,
    },
    /// A process hears something.
    Hears {
        process: usize,
        event: Event,
        of: Option<Of>,
    },
    /// Trouble begins or ends.
    Mischief,
    Heals {
        process: usize,
    },
    StoreUp {
        forgets: bool,
    },
    /// A contention is ended as a user would.
    Stops {
        process: usize,
    },
    Starts,
    /// The future that won is polled again.
    Attends {
        process: usize,
        tenure_number: u64,
    },
}

/// Where an answer goes, and what it answers.
#[derive(Debug, Clone, Copy)]
struct Back {
    process: usize,
    of: Of,
    /// When it was sent, by the sender's clock.
    sent_at: crate::clock::Moment,
}

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Acquire,
    Release,
    Leave,
}

/// Which call or renewal an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Call(u64, Asked),
    Renewal(u64, Nonce),
}

pub(super) struct World {
    now: True,
    coming: BinaryHeap<Reverse<(True, u64)>>,
    what: BTreeMap<u64, Coming>,
    next: u64,
    chance: Chance,
    rates: Rates,
    store: Store,
    told: Told,
    processes: Vec<Process>,
    judge: Judge,
    name: MutexName,
    terms: LeaseTerms,
    tally: Tally,
    trace: bool,
    seed: u64,
    /// How far the speeds of two clocks are apart at most.
    apart: f64,
    /// A process has won with an attempt before this one unanswered.
    unanswered: BTreeMap<usize, bool>,
}

impl World {
    pub(super) fn new(seed: u64, trace: bool, apart: f64) -> Self {
        let mut chance = Chance::new(seed);
        // In the last one little but the part that grows with the lease covers
        // clocks of different speeds.
        let all = [(600, 400), (1_000, 0), (300, 900), (3_500, 1_500)];
        let (ttl, transition) = all[chance.below(all.len())];
        let millis = Duration::from_millis;
        let rates = chance.rates();
        let speed = chance.speed(apart);
        Self {
            now: 1_000_000_000,
            coming: BinaryHeap::new(),
            what: BTreeMap::new(),
            next: 0,
            rates,
            store: Store::new(speed),
            told: Told::default(),
            processes: Vec::new(),
            judge: Judge::default(),
            name: MutexName::new("m").expect("valid"),
            terms: LeaseTerms::new(millis(ttl), millis(transition)).expect("valid"),
            tally: Tally::default(),
            trace,
            seed,
            apart,
            chance,
            unanswered: BTreeMap::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Tally, String> {
        for _ in 0..2 + self.chance.below(3) {
            let wait = self.chance_millis(0, 500);
            self.after(wait, Coming::Starts);
        }
        self.after(0, Coming::Mischief);
        self.until(1_000_000_000 + TROUBLE)?;
        self.calm_down()?;
        self.until(self.now + CALM)?;
        self.expect_recovered()?;
        self.expect_clean_end()?;
        Ok(self.tally)
    }

    fn until(&mut self, end: True) -> Result<(), String> {
        while let Some(Reverse((at, number))) = self.coming.peek().copied() {
            if at > end {
                break;
            }
            self.coming.pop();
            let Some(coming) = self.what.remove(&number) else {
                continue;
            };
            self.now = at;
            self.tally.steps += 1;
            if self.tally.steps > 200_000 {
                return Err("a tight loop".into());
            }
            if self.trace {
                println!("{:>12.3}ms {coming:?}", at as f64 / 1e6);
            }
            self.comes(coming)?;
        }
        self.now = end;
        Ok(())
    }

    fn comes(&mut self, coming: Coming) -> Result<(), String> {
        match coming {
            Coming::Rings { process, timer } if self.processes[process].timer == timer => {
                self.tell(process, Event::Timer)
            }
            Coming::Renews {
                process,
                renewal,
                held,
                limit,
            } if self.processes[process].renewal == renewal => {
                if self.processes[process].is_unclaimed {
                    // As in the roster: not renewed, but taken back.
                    let (nonce, until) = (held.nonce, None);
                    return self.tell(process, Event::Unclaimed { nonce, until });
                }
                let of = Of::Renewal(renewal, held.nonce);
                self.send(process, Request::Renew(held), of, limit);
                Ok(())
            }
            Coming::Rings { .. } | Coming::Renews { .. } => Ok(()),
            Coming::Arrives { request, back } => {
                self.arrives(&request, back);
                Ok(())
            }
            Coming::Hears { process, event, of } => self.hear(process, event, of),
            Coming::Mischief => self.mischief(),
            Coming::Heals { process } => self.heal(process),
            Coming::StoreUp { forgets } => {
                self.store_up(forgets);
                Ok(())
            }
            Coming::Attends {
                process,
                tenure_number,
            } => {
                self.processes[process].is_unclaimed = false;
                self.tell(process, Event::Attended { tenure_number })
            }
            Coming::Stops { process } => self.tell(process, Event::Stop(Stop::Wanted)),
            Coming::Starts => self.start(),
        }
    }

    fn start(&mut self) -> Result<(), String> {
        let number = self.processes.len();
        // Sometimes two live contenders carry the same id.
        let id = if self.chance.hits(0.05) { 0 } else { number };
        let settings = ContentionSettings {
            purpose: Purpose::Lock,
            name: self.name.clone(),
            contender: ContenderId::new(format!("p{id}")).expect("valid"),
            unique_id: false,
            shares_fence: false,
            terms: self.terms,
            mode: if self.chance.hits(0.7) {
                Mode::Always
            } else {
                Mode::Once
            },
            jitter: Jitter::default(),
            safety_look: Duration::from_secs(2),
            initial_delay: Duration::ZERO,
            courtesy: Duration::ZERO,
            quiesce: Duration::from_secs(2),
        };
        let speed = self.chance.speed(self.apart);
        let random = Random::seeded(self.chance.number());
        let id = settings.contender.clone();
        let (machine, effects) = Machine::start(settings, random, None, moment(self.now, speed));
        self.processes.push(Process {
            machine,
            id,
            call: 0,
            held: None,
            renewal: 0,
            answered: 0,
            timer: 0,
            is_dead: false,
            is_paused: false,
            backlog: std::collections::VecDeque::new(),
            is_cut_off: Cut::None,
            is_stuck: false,
            owes_quiesce: None,
            is_unclaimed: false,
            speed,
        });
        self.carry_out(number, effects)
    }

    /// A process hears what came for it, unless it has stopped listening for
    /// that: the answer to a call that it has dropped is not heard.
    fn hear(&mut self, process: usize, event: Event, of: Option<Of>) -> Result<(), String> {
        let p = &mut self.processes[process];
        if p.is_paused {
            p.backlog.push_back((event, of));
            return Ok(());
        }
        match of {
            Some(Of::Call(call, _)) if p.call != call => return Ok(()),
            Some(Of::Renewal(renewal, _)) if p.answered >= renewal => return Ok(()),
            // One answer is enough: a time-out and a late answer are two.
            Some(Of::Call(..)) => p.call += 1,
            // As in the roster: one that was withdrawn on its way is
            // answered all the same.
            Some(Of::Renewal(renewal, _)) => p.answered = renewal,
            None => {}
        }
        self.tell(process, event)
    }

    /// A process takes an event, unless it cannot.
    fn tell(&mut self, process: usize, event: Event) -> Result<(), String> {
        let p = &mut self.processes[process];
        if p.is_dead {
            return Ok(());
        }
        if p.is_paused {
            p.backlog.push_back((event, None));
            return Ok(());
        }
        if p.machine.is_finished() {
            return Ok(());
        }
        let at = p.moment(self.now);
        let effects = p.machine.on(at, event);
        self.carry_out(process, effects)
    }

    fn carry_out(&mut self, process: usize, effects: Vec<Effect>) -> Result<(), String> {
        for effect in effects {
            if self.trace {
                println!("               p{process}: {effect:?}");
            }
            let name = self.name.clone();
            let p = &mut self.processes[process];
            match effect {
                Effect::Call(call, limit) => {
                    p.call += 1;
                    let asked = match &call {
                        Call::Acquire(_) => Asked::Acquire,
                        Call::Release { .. } => Asked::Release,
                        Call::Leave(_) => Asked::Leave,
                    };
                    let of = Of::Call(p.call, asked);
                    self.send(process, Request::Call(call), of, limit);
                }
                Effect::DropCall => p.call += 1,
                Effect::Renew { at, deadline, .. } => {
                    p.renewal += 1;
                    let held = p.held.clone().ok_or("it renews what it never won")?;
                    let (renewal, due) = (p.renewal, p.truly(at).max(self.now));
                    let limit = wake::renewal_limit(&self.terms, deadline, at.min(deadline));
                    let renews = Coming::Renews {
                        process,
                        renewal,
                        held,
                        limit,
                    };
                    self.at(due, renews);
                }
                Effect::StopRenewing => p.renewal += 1,
                Effect::Subscribe => drop(self.told.subscribed.insert(p.id.clone())),
                Effect::Unsubscribe => drop(self.told.subscribed.remove(&p.id)),
                Effect::Begin {
                    tenure_number,
                    bid,
                    token,
                    deadline,
                    ..
                } => {
                    let until = p.truly(deadline);
                    p.held = Some(bid.held(token));
                    self.tally.begun += 1;
                    if self.unanswered.insert(process, false) == Some(true) {
                        self.tally.after_unknown += 1;
                    }
                    self.judge.begins(self.now, process, &name, token, until)?;
                    let trouble = self.now < 1_000_000_000 + TROUBLE;
                    let is_unclaimed = trouble && self.chance.hits(0.1);
                    self.processes[process].is_unclaimed = is_unclaimed;
                    if is_unclaimed {
                        // Perhaps in time, perhaps long after.
                        let after = self.chance_millis(10, 5_000);
                        self.after(
                            after,
                            Coming::Attends {
                                process,
                                tenure_number,
                            },
                        );
                        continue;
                    }
                    // A user that works for a while, and then stops for good,
                    // or resigns and stands again.
                    let after = self.chance_millis(10, 4_000);
                    match self.chance.below(8) {
                        0..=3 => self.after(after, Coming::Stops { process }),
                        4 => {
                            let (event, of) = (Event::Quiesced { tenure_number }, None);
                            self.after(after, Coming::Hears { process, event, of });
                        }
                        _ => {}
                    }
                }
                Effect::Extend { deadline, .. } => {
                    let until = p.truly(deadline);
                    self.judge.extends(self.now, process, &name, until)?;
                }
                Effect::End(cause) => {
                    self.judge.ends(process, &name);
                    self.tally.lost_by_deadline += u64::from(cause == LossCause::Deadline);
                    self.tally.unclaimed += u64::from(cause == LossCause::Unclaimed);
                }
                Effect::Quiesce { tenure_number, .. } if !p.is_stuck => {
                    // Without a user there is no local side to end.
                    let longest = if p.is_unclaimed { 0 } else { 300 };
                    let after = self.chance_millis(0, longest);
                    let event = Event::Quiesced { tenure_number };
                    self.after(
                        after,
                        Coming::Hears {
                            process,
                            event,
                            of: None,
                        },
                    );
                }
                Effect::Trouble(error) => {
                    let lost = error.may_have_happened();
                    *self.unanswered.entry(process).or_default() |= lost;
                }
                Effect::TidyLater(bid) => {
                    let request = Request::Call(crate::engine::event::Call::Leave(bid));
                    let wait = self.terms.call_timeout().as_nanos() as True;
                    self.after(
                        wait,
                        Coming::Arrives {
                            request,
                            back: None,
                        },
                    );
                }
                Effect::Finish(finish) => self.finished(process, &finish),
                // Its local work goes on and on.
                Effect::Quiesce { tenure_number, .. } => p.owes_quiesce = Some(tenure_number),
                Effect::Observe(_) | Effect::GivenBack(_) => {}
            }
        }
        let p = &mut self.processes[process];
        p.timer += 1;
        if let Some(at) = p.machine.wake_at() {
            let (timer, due) = (p.timer, p.truly(at).max(self.now));
            self.at(due, Coming::Rings { process, timer });
        }
        Ok(())
    }

    fn finished(&mut self, process: usize, finish: &Finish) {
        self.tally.released += u64::from(matches!(finish, Finish::Released));
        let p = &mut self.processes[process];
        self.told.subscribed.remove(&p.id);
        if self.now < 1_000_000_000 + TROUBLE {
            let after = self.chance_millis(0, 1_000);
            self.after(after, Coming::Starts);
        }
    }
}

mod trouble;
