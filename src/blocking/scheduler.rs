//! [`Scheduler`], for plain threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::background::Background;
use super::tenure::Tenure;
use crate::error::{Error, Result};
use crate::model::{MutexName, StoreTime};
use crate::schedule::{self, JobResult, ScheduleConfig, ScheduleStatus, ThreadWork};

/// Runs a job on a schedule, in one process of the fleet at a time, as
/// [`tenure::Scheduler`](crate::Scheduler). The job runs on a thread of its
/// own called `{worker}-0`.
///
/// A job on a thread cannot be dropped. One whose leadership is lost, or whose
/// time limit is over, should return: until it does, nothing else is run here,
/// and after a stop the office is not given back, but runs out.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use tenure::blocking::Coordinator;
/// use tenure::schedule::ScheduleConfig;
///
/// let coordinator = Coordinator::connect("memory:")?;
/// let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(10))?;
/// let (tell, told) = mpsc::channel();
/// let handle = coordinator
///     .scheduler("settlement", config)?
///     .with_worker("settler")?
///     .start(move |tick| tell.send(tick.number()))?;
/// assert_eq!(told.recv().unwrap(), 0);
/// handle.stop()?;
/// coordinator.close()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler {
    inner: schedule::Scheduler,
    background: Background,
    /// Whether a job is running, also one of an earlier life.
    busy: Arc<AtomicBool>,
}

impl Scheduler {
    pub(super) fn new(inner: schedule::Scheduler, background: &Background) -> Self {
        Self {
            inner,
            background: background.clone(),
            busy: Arc::default(),
        }
    }

    /// The same scheduler, whose runs carry this name in spans, logs and on
    /// their thread; otherwise the schedule's name.
    ///
    /// # Errors
    /// As [`tenure::Scheduler::with_worker`](crate::Scheduler::with_worker).
    pub fn with_worker(self, name: impl AsRef<str>) -> Result<Self> {
        let inner = self.inner.with_worker(name)?;
        Ok(Self { inner, ..self })
    }

    /// What is scheduled.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        self.inner.name()
    }

    /// When it runs.
    #[must_use]
    pub fn config(&self) -> &ScheduleConfig {
        self.inner.config()
    }

    /// Whether it has been started, and not stopped.
    #[must_use]
    pub fn running(&self) -> bool {
        self.inner.running()
    }

    /// What it has done and will do.
    #[must_use]
    pub fn status(&self) -> ScheduleStatus {
        self.inner.status()
    }

    /// Stands for leader and, while leading, runs `job` at each tick. Returns
    /// at once.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when the scheduler runs already,
    /// or a run of an earlier life has not returned;
    /// [`Closed`](crate::ErrorKind::Closed) after the coordinator has been closed.
    pub fn start<F, R>(&self, mut job: F) -> Result<SchedulerHandle>
    where
        F: FnMut(Tick) -> R + Send + 'static,
        R: JobResult,
    {
        if !self.running() && self.busy.load(Ordering::Acquire) {
            return Err(
                Error::wrong_state("a run from before the last stop has not returned")
                    .with_mutex(self.name()),
            );
        }
        let (background, busy) = (self.background.clone(), Arc::clone(&self.busy));
        let job = move |tick: schedule::Tick| {
            let _busy = Busy::new(&busy);
            job(Tick::new(tick, &background))
        };
        self.inner
            .start_on_thread(|worker| ThreadWork::spawn(worker, job))?;
        Ok(SchedulerHandle {
            scheduler: self.clone(),
        })
    }

    /// As [`start`](Self::start), and waits until it has ended.
    ///
    /// # Errors
    /// As [`start`](Self::start), and as
    /// [`tenure::Scheduler::run`](crate::Scheduler::run).
    pub fn run<F, R>(&self, job: F) -> Result<()>
    where
        F: FnMut(Tick) -> R + Send + 'static,
        R: JobResult,
    {
        self.start(job)?.wait_ended()
    }

    /// Begins no further run, waits for the one under way, gives the office
    /// back, and returns when the store has been told.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when it does not run;
    /// [`Unconfirmed`](crate::ErrorKind::Unconfirmed) when the run has not returned
    /// in time, so that nothing was released, or when the store did not
    /// confirm the release.
    pub fn stop(&self) -> Result<()> {
        let scheduler = self.inner.clone();
        self.background.wait(async move { scheduler.stop().await })
    }
}

/// Set while it lives.
struct Busy<'a>(&'a AtomicBool);

impl<'a> Busy<'a> {
    fn new(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Release);
        Self(flag)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A scheduler that was started. Dropped, it runs on until the coordinator is
/// closed.
#[derive(Clone, Debug)]
pub struct SchedulerHandle {
    scheduler: Scheduler,
}

impl SchedulerHandle {
    /// Whether it has not been stopped and has not ended.
    #[must_use]
    pub fn running(&self) -> bool {
        self.scheduler.running()
    }

    /// What it has done and will do.
    #[must_use]
    pub fn status(&self) -> ScheduleStatus {
        self.scheduler.status()
    }

    /// As [`Scheduler::stop`].
    ///
    /// # Errors
    /// As [`Scheduler::stop`].
    pub fn stop(&self) -> Result<()> {
        self.scheduler.stop()
    }

    /// Waits until it has ended, for whatever reason.
    ///
    /// # Errors
    /// As [`tenure::Scheduler::run`](crate::Scheduler::run).
    pub fn wait_ended(&self) -> Result<()> {
        let scheduler = self.scheduler.inner.clone();
        let ended = async move { scheduler.ended().await };
        self.scheduler.background.wait(ended)
    }
}

/// What a run is given, as [`tenure::Tick`](crate::Tick).
#[derive(Clone, Debug)]
pub struct Tick {
    inner: schedule::Tick,
    tenure: Tenure,
}

impl Tick {
    fn new(inner: schedule::Tick, background: &Background) -> Self {
        let tenure = Tenure::new(inner.tenure().clone(), background);
        Self { inner, tenure }
    }

    /// Its number, larger than that of every tick before it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.inner.number()
    }

    /// When it was due, on the store's clock.
    #[must_use]
    pub fn due_at(&self) -> StoreTime {
        self.inner.due_at()
    }

    /// When it was due, for people.
    #[must_use]
    pub fn due_time(&self) -> SystemTime {
        self.inner.due_time()
    }

    /// How much later than due it was started.
    #[must_use]
    pub fn late_by(&self) -> Duration {
        self.inner.late_by()
    }

    /// Whether an earlier leader started it and did not come to its end.
    #[must_use]
    pub fn is_rerun(&self) -> bool {
        self.inner.is_rerun()
    }

    /// The tenure of the leader: look at it, and return when it is lost.
    #[must_use]
    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }
}
