//! What every wrapper of this module is made of. The async side decides; a
//! wrapper only moves the call to the background and waits for it.

/// A lock: its type, the guard it gives, and in whose hands it is taken.
macro_rules! lock {
    (
        $(#[$about:meta])*
        $Lock:ident($Inner:ty) gives $Guard:ident,
        $mine:expr
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $Lock {
            inner: $Inner,
            background: Background,
        }

        impl $Lock {
            /// What is locked.
            #[must_use]
            pub fn name(&self) -> &MutexName {
                self.inner.name()
            }

            /// Waits until the lock is this thread's, for ever if need be.
            ///
            /// # Errors
            #[doc = concat!("As [`tenure::", stringify!($Lock), "::acquire`](crate::", stringify!($Lock), "::acquire).")]
            pub fn acquire(&self) -> Result<$Guard> {
                let lock = self.mine();
                let guard = self.background.wait(async move { lock.acquire().await })?;
                Ok($Guard::new(guard, &self.background))
            }

            /// Waits at most `wait`; `None` when another has it all the while.
            ///
            /// # Errors
            #[doc = concat!("As [`tenure::", stringify!($Lock), "::acquire_within`](crate::", stringify!($Lock), "::acquire_within).")]
            pub fn acquire_within(&self, wait: Duration) -> Result<Option<$Guard>> {
                let lock = self.mine();
                let waiting = async move { lock.acquire_within(wait).await };
                let guard = self.background.wait(waiting)?;
                Ok(guard.map(|guard| $Guard::new(guard, &self.background)))
            }

            /// Waits as [`acquire`](Self::acquire), until `cancel` says
            /// otherwise: then `None`.
            ///
            /// # Errors
            /// As [`acquire`](Self::acquire).
            pub fn acquire_unless(&self, cancel: &Cancel) -> Result<Option<$Guard>> {
                let (lock, cancel) = (self.mine(), cancel.clone());
                let waiting = async move { cancel.unless(lock.acquire()).await.transpose() };
                let guard = self.background.wait(waiting)?;
                Ok(guard.map(|guard| $Guard::new(guard, &self.background)))
            }

            /// Takes the lock if it can be had now; `None` when another has it.
            /// Mind to use the guard: dropping it gives the lock back.
            ///
            /// # Errors
            #[doc = concat!("As [`tenure::", stringify!($Lock), "::try_acquire`](crate::", stringify!($Lock), "::try_acquire).")]
            pub fn try_acquire(&self) -> Result<Option<$Guard>> {
                let lock = self.mine();
                let trying = async move { lock.try_acquire().await };
                let guard = self.background.wait(trying)?;
                Ok(guard.map(|guard| $Guard::new(guard, &self.background)))
            }

            /// Who owns it, by the store's present word; `None` when it is free.
            ///
            /// # Errors
            #[doc = concat!("As [`tenure::", stringify!($Lock), "::owner`](crate::", stringify!($Lock), "::owner).")]
            pub fn owner(&self) -> Result<Option<Owner>> {
                let lock = self.inner.clone();
                self.background.wait(async move { lock.owner().await })
            }

            /// The lock in the hands of this thread.
            fn mine(&self) -> $Inner {
                let mine: fn(&$Inner) -> $Inner = $mine;
                mine(&self.inner)
            }
        }
    };
}

/// What a lock has in addition that its thread may take again.
macro_rules! reentrant_lock {
    ($Lock:ident gives $Guard:ident) => {
        impl $Lock {
            #[doc = concat!("Gives back the hold that this thread [kept](", stringify!($Guard), "::keep) last.")]
            ///
            /// # Errors
            /// [`WrongState`](crate::ErrorKind::WrongState) when it has kept
            /// none.
            pub fn release_kept(&self) -> Result<()> {
                let lock = self.mine();
                self.background
                    .wait(async move { lock.release_kept().await })
            }

            /// How often this thread holds it; zero once it is lost.
            #[must_use]
            pub fn hold_count(&self) -> u32 {
                self.mine().hold_count().unwrap_or(0)
            }

            /// Whether this thread holds it.
            #[must_use]
            pub fn is_held(&self) -> bool {
                self.mine().is_held().unwrap_or(false)
            }

            /// How long this thread still holds it if no renewal succeeds; zero
            /// when it does not.
            #[must_use]
            pub fn remaining(&self) -> Duration {
                self.mine().remaining().unwrap_or_default()
            }
        }
    };
}

/// A guard: its type, what bounds it to a thread, and how its loss is told.
macro_rules! guard {
    (
        $(#[$about:meta])*
        $Guard:ident($Inner:ty) bound by $Bound:ty, lost as $told:expr
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $Guard {
            inner: $Inner,
            tenure: Tenure,
            background: Background,
            bound: PhantomData<$Bound>,
        }

        impl $Guard {
            pub(super) fn new(inner: $Inner, background: &Background) -> Self {
                Self {
                    tenure: Tenure::new(inner.tenure().clone(), background),
                    inner,
                    background: background.clone(),
                    bound: PhantomData,
                }
            }

            /// How long ownership lasts if no further renewal succeeds.
            #[must_use]
            pub fn remaining(&self) -> Duration {
                self.tenure.remaining()
            }

            /// Whether ownership has ended.
            #[must_use]
            pub fn is_lost(&self) -> bool {
                self.tenure.is_lost()
            }

            /// Waits until ownership ends, for at most `timeout`; `None` when
            /// it has not ended by then.
            #[must_use]
            pub fn wait_lost(&self, timeout: Duration) -> Option<LeaseLost> {
                self.tenure.wait_lost(timeout).map($told)
            }

            /// Gives it back and waits for the store's word.
            ///
            /// # Errors
            #[doc = concat!("As [`tenure::", stringify!($Guard), "::release`](crate::", stringify!($Guard), "::release).")]
            pub fn release(self) -> Result<()> {
                let guard = self.inner;
                self.background.wait(async move { guard.release().await })
            }
        }
    };
}

/// What a guard has in addition whose grant has a token.
macro_rules! fenced_guard {
    ($Guard:ident) => {
        impl $Guard {
            /// The period of ownership, to be handed to threads that must know.
            #[must_use]
            pub fn tenure(&self) -> &Tenure {
                &self.tenure
            }

            /// The fencing token, if ownership has not ended at this very
            /// moment.
            ///
            /// # Errors
            /// [`LeaseLost`] when it has ended.
            pub fn token(&self) -> Result<FencingToken, LeaseLost> {
                self.tenure.token()
            }
        }
    };
}

/// What a guard has in addition that is one hold of several.
macro_rules! hold_guard {
    ($Guard:ident of $Lock:ident) => {
        impl $Guard {
            /// How often this thread holds the lock now, this guard included.
            #[must_use]
            pub fn hold_count(&self) -> u32 {
                self.inner.hold_count()
            }

            /// Leaves the hold with this thread, for code that takes in one
            /// place and gives back in another:
            #[doc = concat!("[`release_kept`](", stringify!($Lock), "::release_kept) gives it back, and so does")]
            /// the end of the thread.
            pub fn keep(self) {
                self.inner.keep();
            }
        }
    };
}

/// A service: its type, and what it calls.
macro_rules! service {
    (
        $(#[$about:meta])*
        $Service:ident<$Side:ident: $Bound:ident>, $side:ident
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $Service<$Side: $Bound> {
            inner: Arc<service::$Service<$Side>>,
            background: Background,
        }

        impl<$Side: $Bound> $Service<$Side> {
            pub(super) fn new(inner: service::$Service<$Side>, background: &Background) -> Self {
                Self {
                    inner: Arc::new(inner),
                    background: background.clone(),
                }
            }

            /// Starts. Returns at once; the callbacks tell the rest.
            ///
            /// # Errors
            #[doc = concat!("As [`service::", stringify!($Service), "::start`].")]
            pub fn start(&self) -> Result<()> {
                self.inner.start()
            }

            /// Stops: the last callbacks run and return, then the store is told
            /// of what was owned.
            ///
            /// # Errors
            #[doc = concat!("As [`service::", stringify!($Service), "::stop`].")]
            pub fn stop(&self) -> Result<()> {
                let service = Arc::clone(&self.inner);
                self.background.wait(async move { service.stop().await })
            }

            #[doc = concat!("The ", stringify!($side), ".")]
            #[must_use]
            pub fn $side(&self) -> &$Side {
                self.inner.$side()
            }

            /// Where in its life the service is.
            #[must_use]
            pub fn status(&self) -> Status {
                self.inner.status()
            }

            /// Whether it is starting or running.
            #[must_use]
            pub fn running(&self) -> bool {
                self.inner.running()
            }

            /// The last transition it saw; [`MutexState::NONE`] at each start.
            #[must_use]
            pub fn state(&self) -> MutexState {
                self.inner.state()
            }
        }
    };
}

pub(super) use {fenced_guard, guard, hold_guard, lock, reentrant_lock, service};
