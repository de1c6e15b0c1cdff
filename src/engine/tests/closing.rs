//! A close in the moment in which an alarm rings.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::backend::AnyBackend;
use crate::clock::Clock;
use crate::engine::{Engine, Finish, Listener, Mode, Notice, Random, Settings, Tenure};
use crate::error::LossCause;
use crate::model::{ContenderId, Jitter, LeaseTerms, MutexName, Purpose};
use crate::stores::memory::Memory;

/// A holder as a guard is, whose contention is rung for just when it is told to
/// end.
#[derive(Default)]
struct RungFor {
    tenure: Mutex<Option<Tenure>>,
    finish: Mutex<Option<Finish>>,
}

impl Listener for RungFor {
    fn hear(&self, notice: Notice) {
        match notice {
            Notice::Began(tenure, ..) => {
                assert!(tenure.pick_up());
                *self.tenure.lock().unwrap() = Some(tenure);
            }
            Notice::Quiesce(_, done) => {
                done.ring();
                done.quiesced();
            }
            Notice::Finished(finish) => *self.finish.lock().unwrap() = Some(finish),
            Notice::Observed(..) | Notice::Trouble(..) => {}
        }
    }

    fn ends_at_once(&self, cause: LossCause) -> bool {
        cause == LossCause::Closed
    }

    fn cut_off(&self) {}
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_rings_during_a_close_does_not_keep_the_release_back() {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    let settings = Settings {
        terms: LeaseTerms::default(),
        jitter: Jitter::default(),
        initial_delay: Duration::ZERO,
        quiesce: Duration::ZERO,
        inline_callbacks: true,
    };
    let (store, random) = (AnyBackend::new(store), Random::seeded(1));
    let engine = Engine::new(store, clock.clone(), Handle::current(), settings, random);
    let (name, id) = (MutexName::new("m").unwrap(), ContenderId::new("a").unwrap());
    let settings = engine.contention_settings(Purpose::Lock, name, id, Mode::Once);
    let holder = Arc::new(RungFor::default());
    let contention = engine
        .contend_here(settings, holder.clone(), None, engine.clock().look_before())
        .abandoned_when_dropped();
    contention.call_here().await;
    assert!(holder.tenure.lock().unwrap().is_some(), "it owns");
    let began_at = clock.now();
    engine.settle().await;
    let finish = holder.finish.lock().unwrap().take();
    assert!(matches!(finish, Some(Finish::Released)), "{finish:?}");
    assert_eq!(clock.now(), began_at, "at once");
}
