//! Hints by LISTEN and NOTIFY: one connection, only while there is a listener.

use std::time::Duration;

use sqlx::Executor as _;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::dialect::Postgres;
use crate::clock::Clock;
use crate::model::MutexName;
use crate::stores::sql::{Client, NotConnected, Registry};

/// How long the connection may be silent before it is asked whether it lives:
/// a flow that has died half way is silent for ever.
const PULSE: Duration = Duration::from_secs(5);

/// The first and the longest pause after a failure.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

pub(super) struct Listening<'c> {
    registry: &'c Registry,
    postgres: &'c Postgres,
    clock: &'c Clock,
}

/// Why a connection is listened to no more.
enum End {
    NobodyListens,
    Broken(String),
}

impl<'c> Listening<'c> {
    pub(super) fn new(client: &'c Client<Postgres>) -> Self {
        Self {
            registry: client.registry(),
            postgres: client.dialect(),
            clock: client.pool().clock(),
        }
    }

    /// Listens for all listeners, until none is left.
    pub(super) async fn run(self) {
        let mut pause = PAUSE.0;
        while self.registry.names().is_some() {
            let began_at = self.clock.now();
            match self.listen().await {
                End::NobodyListens => pause = PAUSE.0,
                End::Broken(why) => {
                    tracing::debug!(why, "the connection for notifications is lost");
                    if self.clock.now().since(began_at) > PULSE {
                        pause = PAUSE.0;
                    }
                    self.clock.sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    async fn listen(&self) -> End {
        let mut observing = self.registry.has_observers();
        let mut listener = match self.within(self.connect(observing)).await {
            Ok(listener) => listener,
            Err(end) => return end,
        };
        loop {
            // What the server sent before we listened, we have not heard.
            self.registry.tell_all_resumed();
            // Every listener that came before this has been told.
            let mut heard_at = self.clock.now();
            loop {
                let silent_at = heard_at + PULSE;
                let over_at = self.registry.first_end();
                let wake_at = over_at.map_or(silent_at, |at| at.min(silent_at));
                tokio::select! {
                    heard = self.clock.limit(wake_at, listener.try_recv()) => match heard {
                        Some(Ok(Some(message))) => {
                            heard_at = self.clock.now();
                            self.tell(message.channel(), message.payload());
                        }
                        Some(Ok(None)) => {
                            return End::Broken("the server has closed it".to_owned());
                        }
                        Some(Err(error)) => return End::Broken(error.to_string()),
                        None if self.clock.now() < silent_at => {
                            self.registry.tell_ended(self.clock.now());
                        }
                        None => {
                            let alive = async { listener.execute("SELECT 1").await.map(drop) };
                            if let Err(end) = self.within(alive).await {
                                return end;
                            }
                            heard_at = self.clock.now();
                        }
                    },
                    () = self.registry.changed() => {
                        if self.registry.names().is_none() {
                            return End::NobodyListens;
                        }
                        if !observing && self.registry.has_observers() {
                            observing = true;
                            let owned = listener.listen(&self.postgres.statements.owned);
                            if let Err(end) = self.within(owned).await {
                                return end;
                            }
                            break;
                        }
                    }
                }
            }
        }
    }

    async fn connect(&self, observing: bool) -> Result<PgListener, NotConnected> {
        // A pool of one, as the listener wants it; a new one each time, or it
        // would wait for a connection that the server has forgotten.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(self.postgres.limits.connect)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(self.postgres.options().await?);
        let mut listener = PgListener::connect_with(&pool).await?;
        // Connecting again is ours: with the password of then, and never given up
        // half way because something else happened.
        listener.eager_reconnect(false);
        listener.listen(&self.postgres.statements.freed).await?;
        if observing {
            listener.listen(&self.postgres.statements.owned).await?;
        }
        Ok(listener)
    }

    async fn within<T, E: std::fmt::Display>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, End> {
        let end = self.clock.now() + self.postgres.limits.connect;
        match self.clock.limit(end, work).await {
            Some(Ok(done)) => Ok(done),
            Some(Err(error)) => Err(End::Broken(error.to_string())),
            None => Err(End::Broken("no answer in time".to_owned())),
        }
    }

    fn tell(&self, channel: &str, name: &str) {
        // Any client of the server may send a notification: what is no name is no hint.
        let Ok(name) = MutexName::new(name) else {
            return;
        };
        if channel == self.postgres.statements.freed {
            self.registry.tell_waiters(&name);
        }
        self.registry.tell_observers(&name);
    }
}
