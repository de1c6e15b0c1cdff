//! A stranger's transaction that has a row in hand, in MariaDB and PostgreSQL.

use std::thread::scope;
use std::time::Duration;

use tenure_testkit::history::What;
use tenure_testkit::servers::ServerError;

use super::{Cost, Mishap, Scene};
use crate::fleet::Fleet;
use crate::judge::{Kind, LOCKED, STRANGERS};
use crate::worker::shelf;

/// The mutexes for which all contend.
const ROWS: [&str; 3] = ["lock", "lead", "plan"];

/// For how long a row is in hand before which workers are killed.
const LONG: Duration = Duration::from_secs(12);

/// In a second the first waits for it.
const WAITS: Duration = Duration::from_secs(4);

/// When nothing may be left in the server of those that waited: at most a second is usual.
const GONE: Duration = Duration::from_secs(6);

/// How a database is spoken to.
pub(super) struct Tongue<F> {
    /// Runs statements.
    pub(super) sql: F,
    /// Its function that sleeps for seconds.
    pub(super) sleep: &'static str,
    /// Counts the sessions that wait for a row.
    pub(super) blocked: &'static str,
}

impl<F: Fn(&str) -> Result<String, ServerError> + Sync> Tongue<F> {
    /// Has the row of `name` in hand for so long, which is noted.
    fn lock(&self, scene: &Scene<'_>, name: &str, length: Duration) -> Result<(), ServerError> {
        let fault = |is_over| What::Fault {
            what: format!("{LOCKED}{name}").into(),
            is_over,
        };
        let (sleep, seconds) = (self.sleep, length.as_secs_f64());
        scene.log.note("nemesis", fault(false));
        let done = (self.sql)(&format!(
            "START TRANSACTION; SELECT version FROM simba_mutex WHERE mutex = '{name}' \
             FOR UPDATE; SELECT {sleep}({seconds:.3}); COMMIT"
        ));
        scene.log.note("nemesis", fault(true));
        done.map(drop)
    }

    fn blocked(&self) -> Option<u32> {
        (self.sql)(self.blocked).ok()?.trim().parse().ok()
    }

    /// Workers that wait for a locked row are killed: what they have asked for ends in the server.
    fn kill_waiters(&self, fleet: &Fleet, scene: &Scene<'_>) -> Result<(), ServerError> {
        scope(|scope| {
            let stranger = scope.spawn(|| self.lock(scene, ROWS[0], LONG));
            let is_any = scene.until(WAITS, || self.blocked().is_some_and(|blocked| blocked > 0));
            let killed = scene.log.now();
            (0..fleet.size()).for_each(|at| _ = fleet.kill(at));
            let is_gone = scene.until(GONE, || self.blocked() == Some(0));
            let left = self.blocked().unwrap_or_default();
            // Without the lock nothing would wait any more, and nothing be seen.
            let is_locked = !stranger.is_finished();
            let done = stranger.join().expect("it does not panic");
            if !is_any {
                return Err(ServerError::new("no session waited for the row"));
            }
            if is_locked && !is_gone && left > 0 {
                let message = format!(
                    "{left} sessions waited in the server {GONE:?} after their clients were gone"
                );
                scene.log.find(Kind::LeftBehind, ROWS[0], killed, message);
            }
            done
        })
    }
}

/// What a stranger can do.
pub(super) fn menu<'a, F>(fleet: &'a Fleet, tongue: impl Fn() -> Tongue<F>) -> Vec<Mishap<'a>>
where
    F: Fn(&str) -> Result<String, ServerError> + Send + Sync + 'a,
{
    let [one, many] = STRANGERS;
    let (first, second, third) = (tongue(), tongue(), tongue());
    vec![
        Mishap::new(one, move |scene| {
            let name = ROWS[scene.one(ROWS.len())];
            first.lock(scene, name, scene.length)
        }),
        Mishap::new(many, move |scene| {
            let worker = fleet.name(scene.one(fleet.size()));
            let name = shelf::name(worker, scene.one(shelf::SIZE));
            // Long enough for a renewal that waits to cost the others something.
            let length = scene.length + Duration::from_secs(4);
            second.lock(scene, &name, length)
        }),
        Mishap::new("workers killed before a locked row", move |scene| {
            third.kill_waiters(fleet, scene)
        })
        .costing(Cost::Company),
    ]
}
