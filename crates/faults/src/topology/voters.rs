//! Those who say which server is the master, asked again and again: when most of them have named
//! another one, what the new one had not heard of is forgotten.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use tenure_testkit::history::{Event, What};

use crate::log::Log;

/// How long each of them is left alone.
const PAUSE: Duration = Duration::from_millis(50);

/// What one of them said last.
#[derive(Clone, Debug)]
pub(super) struct Voice<S> {
    pub(super) said: S,
    /// It had not said so before, and had by the second.
    pub(super) since: (Duration, Duration),
}

/// Of each voter what it said last, and the moments at which the store forgot by that.
pub(super) trait Count<S>: Send + 'static {
    /// Between which moments something was forgotten by what one of them just said.
    fn forgotten(&mut self, voices: &[Option<Voice<S>>]) -> Vec<(Duration, Duration)>;
}

/// Threads that ask. Dropped, they end.
#[derive(Debug)]
pub(super) struct Voters {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Voters {
    /// Asks by each of `questions`, until this is dropped.
    pub(super) fn ask<S, Q>(questions: Vec<Q>, count: impl Count<S>, log: &Arc<Log>) -> Self
    where
        S: Clone + PartialEq + Send + 'static,
        Q: Fn() -> Option<S> + Send + 'static,
    {
        let is_over = Arc::new(AtomicBool::new(false));
        let voices: Vec<Option<Voice<S>>> = questions.iter().map(|_| None).collect();
        let heard = Arc::new(Mutex::new((voices, count)));
        let threads = questions.into_iter().enumerate().map(|(at, question)| {
            let (is_over, heard) = (Arc::clone(&is_over), Arc::clone(&heard));
            let log = Arc::clone(log);
            std::thread::spawn(move || {
                let mut last = log.now();
                while !is_over.load(Ordering::Relaxed) {
                    let asked = log.now();
                    if let Some(said) = question() {
                        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                        let (voices, count) = &mut *heard;
                        let is_new = voices[at].as_ref().is_none_or(|voice| voice.said != said);
                        if is_new {
                            let since = (last, log.now());
                            voices[at] = Some(Voice { said, since });
                            for (since, by) in count.forgotten(voices) {
                                let what = What::Forgot { since };
                                let process = "voters".into();
                                log.add(Event {
                                    at: by,
                                    process,
                                    what,
                                });
                            }
                        }
                        last = asked;
                    }
                    sleep(PAUSE);
                }
            })
        });
        Self {
            threads: threads.collect(),
            is_over,
        }
    }
}

impl Drop for Voters {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
