//! [`Looks`]: looking at the store for all who ask, also where that takes long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure::Coordinator;
use tokio::task::JoinHandle;

use crate::status::{Row, gather_all};

/// However many look, the store is asked only so often.
pub(crate) const FRESH: Duration = Duration::from_millis(500);
/// The store's time for an answer. Then whoever asks is told what there is, and
/// the look goes on.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the store told, or why it did not.
pub(crate) type Answer = Result<Arc<Told>, String>;

#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) rows: Vec<Row>,
    /// These are not all.
    pub(crate) cut: bool,
    /// How old it is, if it is of an earlier look.
    pub(crate) age: Option<Duration>,
}

/// How looking goes. Whoever asks has it alone: the others wait, and share the
/// answer.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    last: Option<(Instant, Answer)>,
    /// The last look that told all, and when it had.
    whole: Option<(Instant, Arc<Told>)>,
    under_way: Option<Look>,
}

impl Looks {
    pub(crate) async fn rows(&mut self, coordinator: &Coordinator) -> Answer {
        if let Some((at, answer)) = &self.last
            && at.elapsed() < FRESH
        {
            return answer.clone();
        }
        let begin = || Look::begin(coordinator.clone());
        // It stays here: whoever asks may go away before it has ended.
        let look = self.under_way.get_or_insert_with(begin);
        // Whoever asks after one that waited long does not wait as long again.
        let left = PATIENCE.saturating_sub(look.since.elapsed()).max(FRESH);
        let answer = match tokio::time::timeout(left, &mut look.work).await {
            Ok(ended) => {
                let ended = ended.map_err(|error| error.to_string());
                let ended = ended.and_then(|told| told.map_err(|error| error.to_string()));
                let rows = look.told();
                self.under_way = None;
                self.ended(rows, ended)
            }
            Err(_) => {
                let (since, rows) = (look.since.elapsed(), look.told());
                self.meanwhile(since, rows)
            }
        };
        self.last = Some((Instant::now(), answer.clone()));
        answer
    }

    fn ended(&mut self, rows: Vec<Row>, ended: Result<(), String>) -> Answer {
        let cut = match ended {
            Ok(()) => false,
            Err(error) if rows.is_empty() => return Err(error),
            // Some are better than none, if it is said that there are more.
            Err(_) => true,
        };
        let told = Arc::new(Told {
            rows,
            cut,
            age: None,
        });
        if !cut {
            self.whole = Some((Instant::now(), Arc::clone(&told)));
        }
        Ok(told)
    }

    /// What there is before a look has ended: all of an earlier one, or some of
    /// this.
    fn meanwhile(&self, since: Duration, rows: Vec<Row>) -> Answer {
        if let Some((at, whole)) = &self.whole {
            return Ok(Arc::new(Told {
                age: Some(at.elapsed()),
                ..Told::clone(whole)
            }));
        }
        if rows.is_empty() {
            return Err(format!(
                "the store has told nothing within {} s; it is still being asked",
                since.as_secs()
            ));
        }
        Ok(Arc::new(Told {
            rows,
            cut: true,
            age: None,
        }))
    }
}

/// A look at the store. Dropped, it ends.
#[derive(Debug)]
struct Look {
    since: Instant,
    told: Arc<Mutex<Vec<Row>>>,
    work: JoinHandle<tenure::Result<()>>,
}

impl Look {
    fn begin(coordinator: Coordinator) -> Self {
        let told = Arc::<Mutex<Vec<Row>>>::default();
        let tell = Arc::clone(&told);
        let work = async move {
            let tell = |rows| locked(&tell).extend(rows);
            gather_all(&coordinator, tell).await
        };
        Self {
            since: Instant::now(),
            told,
            work: tokio::spawn(work),
        }
    }

    fn told(&self) -> Vec<Row> {
        locked(&self.told).clone()
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.work.abort();
    }
}

fn locked(rows: &Mutex<Vec<Row>>) -> MutexGuard<'_, Vec<Row>> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}
