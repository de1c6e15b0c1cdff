//! [`Looks`]: looking at the store for all who ask, also where that takes long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure::model::MutexName;
use tenure::{Coordinator, Error, ErrorKind, Outcome};
use tokio::task::JoinHandle;

use crate::status::{Row, gather_each};

/// While a page is open the store is asked so often.
pub const FRESH: Duration = Duration::from_millis(500);
/// The store's time for an answer. Then the one who asks is told what there is, and
/// the look goes on.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the store told, or why it told nothing.
pub type Answer = Result<Arc<Told>, Error>;

/// What the store told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Told {
    /// A mutex each.
    pub rows: Vec<Row>,
    /// Why these are not all.
    pub cut: Option<Error>,
    /// How old it is, if it is of an earlier look.
    pub age: Option<Duration>,
}

/// How looking goes. The one who asks has it alone, and says how often.
#[derive(Debug, Default)]
pub struct Looks {
    /// Only these, if there are any.
    names: Arc<[MutexName]>,
    /// The last look that told all, and when it had.
    whole: Option<(Instant, Arc<Told>)>,
    under_way: Option<Look>,
}

impl Looks {
    /// Looks at the mutexes of these names, or at all that the store knows of.
    #[must_use]
    pub fn at(names: &[MutexName]) -> Self {
        Self {
            names: names.into(),
            ..Self::default()
        }
    }

    /// What there is to be told, within 5 s or so.
    ///
    /// # Errors
    /// When the store cannot be asked, or has told nothing yet.
    ///
    /// # Cancel safety
    /// Dropped, the look goes on for the next who asks.
    pub async fn rows(&mut self, coordinator: &Coordinator) -> Answer {
        let begin = || Look::begin(coordinator.clone(), Arc::clone(&self.names));
        // It stays here: the one who asks may go away before it has ended.
        let look = self.under_way.get_or_insert_with(begin);
        // Who asks after one that waited long does not wait as long again.
        let left = PATIENCE.saturating_sub(look.since.elapsed()).max(FRESH);
        match tokio::time::timeout(left, &mut look.work).await {
            Ok(ended) => {
                let broken = |_| Error::new(ErrorKind::Closed, Outcome::DidNot);
                let ended = ended.map_err(broken).and_then(|told| told);
                let rows = look.told();
                self.under_way = None;
                self.ended(rows, ended)
            }
            Err(_) => {
                let (since, rows) = (look.since.elapsed(), look.told());
                self.meanwhile(since, rows)
            }
        }
    }

    /// Whether the store is being asked at this moment.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    fn ended(&mut self, rows: Vec<Row>, ended: Result<(), Error>) -> Answer {
        let cut = match ended {
            Err(error) if rows.is_empty() => return Err(error),
            // Some are better than none, if it is said that there are more.
            ended => ended.err(),
        };
        let is_whole = cut.is_none();
        let told = Arc::new(Told {
            rows,
            cut,
            age: None,
        });
        if is_whole {
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
        let late = |what: &str| {
            Error::new(ErrorKind::Timeout, Outcome::DidNot).with_message(format!(
                "the store has told {what} within {} s, and is still being asked",
                since.as_secs()
            ))
        };
        if rows.is_empty() {
            return Err(late("nothing"));
        }
        Ok(Arc::new(Told {
            rows,
            cut: Some(late("no more")),
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
    fn begin(coordinator: Coordinator, names: Arc<[MutexName]>) -> Self {
        let told = Arc::<Mutex<Vec<Row>>>::default();
        let tell = Arc::clone(&told);
        let work = async move {
            let tell = |rows| locked(&tell).extend(rows);
            gather_each(&coordinator, &names, tell).await
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
