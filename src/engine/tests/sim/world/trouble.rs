//! The network between processes and store, what goes wrong, and what must
//! hold when it has stopped going wrong.

use super::*;

impl World {
    pub(super) fn at(&mut self, at: True, coming: Coming) {
        self.next += 1;
        self.coming.push(Reverse((at.max(self.now), self.next)));
        self.what.insert(self.next, coming);
    }

    pub(super) fn after(&mut self, wait: True, coming: Coming) {
        self.at(self.now + wait, coming);
    }

    pub(super) fn chance_millis(&mut self, low: u64, high: u64) -> True {
        self.chance.millis(low, high).as_nanos() as True
    }

    fn latency(&mut self) -> True {
        self.chance.latency(&self.rates).as_nanos() as True
    }

    /// Sends a request, which may get lost, double, or take its time; after
    /// `limit` the sender gives up.
    pub(super) fn send(&mut self, process: usize, request: Request, of: Of, limit: Duration) {
        let p = &self.processes[process];
        let back = Back {
            process,
            of,
            sent_at: p.moment(self.now),
        };
        let (given_up, cut) = (p.true_length(limit), p.is_cut_off.out());
        if self.store.is_down && !cut {
            let refused = Error::new(ErrorKind::Unreachable, Outcome::DidNot);
            let after = self.latency().min(given_up);
            return self.answer(after, back, Err(refused));
        }
        let late = Error::new(ErrorKind::Timeout, Outcome::MayHave);
        self.answer(given_up, back, Err(late));
        if cut || self.chance.hits(self.rates.lose_request) {
            return;
        }
        if self.chance.hits(self.rates.double_request) {
            let after = self.latency() + self.chance_millis(0, 2_000);
            self.after(
                after,
                Coming::Arrives {
                    request: request.clone(),
                    back: None,
                },
            );
        }
        let after = self.latency();
        self.after(
            after,
            Coming::Arrives {
                request,
                back: Some(back),
            },
        );
    }

    fn answer(
        &mut self,
        after: True,
        back: Back,
        result: crate::error::Result<crate::backend::Answer>,
    ) {
        let Back {
            process,
            of,
            sent_at,
        } = back;
        let event = match of {
            Of::Call(_, Asked::Acquire) => Event::Acquired(result),
            Of::Call(_, Asked::Release) => Event::Released(result),
            Of::Call(_, Asked::Leave) => Event::Left(result.map(drop)),
            Of::Renewal(_, nonce) => Event::Renewed {
                nonce,
                sent: crate::clock::Sight {
                    now: sent_at,
                    wall_lead: 0,
                },
                batch: 1,
                result,
            },
        };
        self.after(
            after,
            Coming::Hears {
                process,
                event,
                of: Some(of),
            },
        );
    }

    pub(super) fn arrives(&mut self, request: &Request, back: Option<Back>) {
        if self.store.is_down {
            return;
        }
        let result = self.store.apply(self.now, request, &mut self.told);
        self.spread_hints();
        let Some(back) = back else { return };
        let cut = self.processes[back.process].is_cut_off.into();
        if !cut && !self.chance.hits(self.rates.lose_answer) {
            let after = self.latency();
            self.answer(after, back, result);
        }
    }

    fn spread_hints(&mut self) {
        let turns = std::mem::take(&mut self.told.turns);
        let everybody = std::mem::take(&mut self.told.changed);
        for process in 0..self.processes.len() {
            let p = &self.processes[process];
            if p.is_dead || p.is_cut_off.into() || !self.told.subscribed.contains(&p.id) {
                continue;
            }
            let is_turn = turns.contains(&p.id);
            for (wanted, hint) in [(is_turn, Hint::Turn), (everybody, Hint::Changed)] {
                let lost = self.chance.hits(self.rates.lose_hint);
                let copies = 1 + usize::from(self.chance.hits(self.rates.double_hint));
                for _ in 0..if wanted && !lost { copies } else { 0 } {
                    let after = self.latency();
                    let event = Event::Hint(hint);
                    self.after(
                        after,
                        Coming::Hears {
                            process,
                            event,
                            of: None,
                        },
                    );
                }
            }
        }
    }

    /// Something goes wrong; and again, until the trouble is over.
    pub(super) fn mischief(&mut self) -> Result<(), String> {
        if self.now >= 1_000_000_000 + TROUBLE {
            return Ok(());
        }
        let again = self.chance_millis(100, 3_000);
        self.after(again, Coming::Mischief);
        if self.processes.is_empty() {
            return Ok(());
        }
        let process = self.chance.below(self.processes.len());
        let soon = self.chance_millis(50, 2_500);
        match self.chance.below(9) {
            0 => self.kill(process),
            1 | 2 => {
                self.processes[process].is_paused = true;
                self.after(soon, Coming::Heals { process });
            }
            3 | 4 => {
                let cuts = [Cut::Out, Cut::In, Cut::Both];
                self.processes[process].is_cut_off = cuts[self.chance.below(3)];
                self.after(soon, Coming::Heals { process });
            }
            5 => {
                self.store.is_down = true;
                let forgets = self.chance.hits(0.3);
                self.after(soon, Coming::StoreUp { forgets });
            }
            6 => self.processes[process].is_stuck = self.chance.hits(0.3),
            7 => {
                // Wake-ups were lost and come again.
                let event = Event::Hint(Hint::Resumed);
                self.after(
                    0,
                    Coming::Hears {
                        process,
                        event,
                        of: None,
                    },
                );
            }
            _ => self.after(soon, Coming::Starts),
        }
        Ok(())
    }

    fn kill(&mut self, process: usize) {
        let p = &mut self.processes[process];
        p.is_dead = true;
        let id = p.id.clone();
        let shared = self.processes.iter().any(|p| !p.is_dead && p.id == id);
        if !shared {
            self.told.subscribed.remove(&id);
        }
        self.judge.ends(process, &self.name.clone());
        let after = self.chance_millis(0, 500);
        self.after(after, Coming::Starts);
    }

    pub(super) fn heal(&mut self, process: usize) -> Result<(), String> {
        let p = &mut self.processes[process];
        p.is_cut_off = Cut::None;
        p.is_paused = false;
        // On resume everything that waited comes at once, in order.
        while let Some((event, of)) = self.processes[process].backlog.pop_front() {
            self.hear(process, event, of)?;
        }
        Ok(())
    }

    pub(super) fn store_up(&mut self, forgets: bool) {
        self.store.is_down = false;
        if forgets {
            self.store.forget();
            let lease = self.terms.lease().as_nanos() as True;
            self.judge.excuse_until(self.now + lease + lease / 100);
        }
    }

    /// Everything heals, and nothing goes wrong any more.
    pub(super) fn calm_down(&mut self) -> Result<(), String> {
        let calm = Chance::new(self.seed).rates();
        self.rates = Rates {
            lose_request: 0.0,
            lose_answer: 0.0,
            ..calm
        };
        self.rates = Rates {
            double_request: 0.0,
            lose_hint: 0.0,
            slow: 0.0,
            ..self.rates.clone()
        };
        self.store_up(false);
        for process in 0..self.processes.len() {
            self.processes[process].is_stuck = false;
            self.heal(process)?;
            if let Some(tenure_number) = self.processes[process].owes_quiesce.take() {
                self.tell(process, Event::Quiesced { tenure_number })?;
            }
        }
        // At least one who wants to own for ever, when the others have gone.
        self.start()
    }

    /// One process owns, as long as one wants to.
    pub(super) fn expect_recovered(&mut self) -> Result<(), String> {
        let wants = |p: &Process| !p.is_dead && !p.machine.is_finished();
        let wanting = self.processes.iter().filter(|p| wants(p)).count();
        let owners = self.judge.owners(self.now, &self.name.clone());
        if wanting > 0 && owners == 0 {
            // The rest may have been told to stop and be on their way out.
            self.until(self.now + 4 * self.terms.lease().as_nanos() as True)?;
            let wanting = self.processes.iter().filter(|p| wants(p)).count();
            if wanting > 0 && self.judge.owners(self.now, &self.name.clone()) == 0 {
                return Err(format!("{wanting} want to own and nobody does"));
            }
        }
        Ok(())
    }

    /// All can be stopped; the next process finds the mutex free, with none
    /// but the dead before it, and leaves nothing behind.
    pub(super) fn expect_clean_end(&mut self) -> Result<(), String> {
        self.stop_all()?;
        let begun = self.tally.begun;
        self.start()?;
        self.until(self.now + 1_000_000_000)?;
        if self.tally.begun == begun {
            return Err("a newcomer does not get what nobody owns".into());
        }
        self.stop_all()?;
        let left = self.store.leftovers(self.now);
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("left in the store: {left:?}"))
        }
    }

    fn stop_all(&mut self) -> Result<(), String> {
        for process in 0..self.processes.len() {
            self.tell(process, Event::Stop(Stop::Wanted))?;
        }
        self.until(self.now + 10_000_000_000)?;
        for (number, p) in self.processes.iter().enumerate() {
            if !p.is_dead && !p.machine.is_finished() {
                return Err(format!("process {number} does not end: {:?}", p.machine));
            }
            if self.judge.is_valid(self.now, number, &self.name) {
                return Err(format!("process {number} still owns after its end"));
            }
        }
        Ok(())
    }
}
