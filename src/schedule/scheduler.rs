//! [`Scheduler`]: the way into a schedule.

use std::fmt;
use std::sync::Arc;

use super::config::ScheduleConfig;
use super::handle::SchedulerHandle;
use super::job::{AsyncWork, JobResult};
use super::life::SchedulerParts;
use super::runner::live;
use super::status::ScheduleStatus;
use super::thread::ThreadWork;
use super::tick::Tick;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{ContenderIdGenerator, MutexName};

/// Runs a job on a schedule, in one process of the fleet at a time.
///
/// Every process starts the same scheduler; the leader runs the job, and when
/// it dies or loses office the next one goes on where it stopped. Cheap to
/// clone; all clones are the same scheduler, which runs once at a time.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use std::time::Duration;
/// use tenure::Coordinator;
/// use tenure::schedule::ScheduleConfig;
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(10))?;
/// let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
/// let scheduler = coordinator.scheduler("metrics", config)?.with_worker("collector")?;
/// assert_eq!(scheduler.worker_name(), "collector");
/// let handle = scheduler.start(move |tick| {
///     let tell = tell.clone();
///     async move {
///         let token = tick.tenure().token()?; // for every effect of the run
///         tell.send((tick.number(), token)).ok();
///         Ok::<(), tenure::Error>(())
///     }
/// })?;
/// assert_eq!(told.recv().await.unwrap().0, 0);
/// handle.stop().await?;
/// # coordinator.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct Scheduler {
    parts: Arc<SchedulerParts>,
    worker: Arc<str>,
}

impl Scheduler {
    pub(crate) fn new(
        engine: Engine,
        ids: Arc<dyn ContenderIdGenerator>,
        name: MutexName,
        config: ScheduleConfig,
    ) -> Self {
        let worker = name.as_str().into();
        let parts = Arc::new(SchedulerParts::new(engine, ids, name, config));
        Self { parts, worker }
    }

    /// The same scheduler, whose runs carry this name in spans, logs and, in
    /// [`blocking`](crate::blocking), on their thread; otherwise the
    /// schedule's name.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is empty, longer than 64
    /// bytes, or has control characters.
    pub fn with_worker(self, name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
            return Err(Error::invalid(format!(
                "a worker's name has 1 to 64 bytes and no control characters, not {name:?}"
            )));
        }
        let worker = name.into();
        Ok(Self { worker, ..self })
    }

    /// What is scheduled.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        &self.parts.name
    }

    /// When it runs.
    #[must_use]
    pub fn config(&self) -> &ScheduleConfig {
        &self.parts.config
    }

    /// The name in spans and logs.
    #[must_use]
    pub fn worker_name(&self) -> &str {
        &self.worker
    }

    /// Whether it has been started, and not stopped.
    #[must_use]
    pub fn running(&self) -> bool {
        self.parts.board.status().running
    }

    /// What it has done and will do.
    #[must_use]
    pub fn status(&self) -> ScheduleStatus {
        self.parts.board.read()
    }

    /// Stands for leader and, while leading, runs `job` at each tick, here.
    /// Returns after [`stop`](Self::stop) or when the coordinator is closed.
    ///
    /// A run is dropped when leadership is lost, and goes on with the next
    /// tick of the next term. An error or a panic is logged, counted, and the
    /// schedule goes on.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when the schedule of this name
    /// has another cadence, [`WrongState`](crate::ErrorKind::WrongState) when
    /// the scheduler runs already, [`Closed`](crate::ErrorKind::Closed) when
    /// the coordinator has been closed before,
    /// [`Unconfirmed`](crate::ErrorKind::Unconfirmed) when the store did not
    /// confirm the release at the end.
    ///
    /// # Cancel safety
    /// Dropped, it drops the run, then gives the office back in the
    /// background.
    pub async fn run<F, Fut>(&self, job: F) -> Result<()>
    where
        F: FnMut(Tick) -> Fut,
        Fut: Future<Output: JobResult>,
    {
        let life = self.parts.begin()?;
        live(life, &self.worker, AsyncWork(job)).await
    }

    /// As [`run`](Self::run), in the background.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when the scheduler runs
    /// already, [`Closed`](crate::ErrorKind::Closed) after the coordinator has
    /// been closed. What goes wrong later is told by
    /// [`SchedulerHandle::ended`].
    pub fn start<F, Fut>(&self, job: F) -> Result<SchedulerHandle>
    where
        F: FnMut(Tick) -> Fut + Send + 'static,
        Fut: Future<Output: JobResult> + Send + 'static,
    {
        let life = self.parts.begin()?;
        let worker = Arc::clone(&self.worker);
        self.parts.engine.spawn(async move {
            // A caller who wants to know asks `ended`.
            drop(live(life, &worker, AsyncWork(job)).await);
        });
        Ok(self.handle())
    }

    /// As [`start`](Self::start), with a job that has a thread of its own.
    pub(crate) fn start_on_thread(
        &self,
        spawn: impl FnOnce(&str) -> Result<ThreadWork>,
    ) -> Result<SchedulerHandle> {
        let life = self.parts.begin()?;
        let worker = Arc::clone(&self.worker);
        let work = spawn(&worker)?;
        self.parts.engine.spawn(async move {
            drop(live(life, &worker, work).await);
        });
        Ok(self.handle())
    }

    fn handle(&self) -> SchedulerHandle {
        SchedulerHandle::new(self.clone())
    }

    /// The end of the present life, or of the last.
    pub(crate) async fn ended(&self) -> Result<()> {
        self.parts.ended().await
    }

    /// Begins no further run, waits for the one under way, gives the office
    /// back, and returns when the store has been told. A run that takes
    /// longer than the coordinator's `quiesce` is dropped. After it the
    /// scheduler can be started again.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when it does not run;
    /// otherwise what [`run`](Self::run) ends with.
    ///
    /// # Cancel safety
    /// Dropped, the stopping goes on in the background.
    pub async fn stop(&self) -> Result<()> {
        self.parts.stop().await
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("name", &self.parts.name)
            .field("config", &self.parts.config)
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}
