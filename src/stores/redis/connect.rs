//! Making one connection: where to, how, and what is told first.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, PushInfo,
    PushKind, RedisConnectionInfo, Value,
};
use tokio_util::sync::CancellationToken;

use super::config::{Address, Config, Login, Topology};
use super::error::{fault, nonsense};
use super::scripts::Lua;
use super::sentinels::Sentinels;
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// How many calls the driver takes in, and how many bytes of them it puts
/// together, before those who send have to wait. What many tasks send in one
/// moment goes to the server by one write: each costs both sides what a whole
/// script costs. With the driver's own bounds, 50 calls and 8 kB, that would be
/// twenty calls.
const WAITING_CALLS: usize = 1024;
const WRITTEN_AT_ONCE: usize = 256 * 1024;

/// Where a connection goes.
#[derive(Clone, Debug)]
pub(super) enum Route {
    /// To this server.
    Fixed(Address),
    /// To the master in the eyes of the sentinels.
    Master,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Scripts are loaded first.
    Commands,
    /// Subscriptions only.
    Push,
}

/// Hears the messages of a connection, in the task that reads from it: from
/// there it is one step to the waiter. It must not block.
pub(super) type Ear = Arc<dyn Fn(&PushInfo) + Send + Sync>;

/// One that hears nothing.
pub(super) fn deaf() -> Ear {
    Arc::new(|_: &PushInfo| {})
}

/// A connection that has just been made.
pub(super) struct Fresh {
    pub(super) connection: MultiplexedConnection,
    /// Where it goes to.
    pub(super) address: Address,
    /// Nothing more will be heard on it.
    pub(super) over: CancellationToken,
    /// Not later than this the server started; known if it was asked.
    pub(super) up_since: Option<Moment>,
}

/// Makes the connections of one client.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) config: Arc<Config>,
    pub(super) clock: Clock,
    /// Who say where [`Route::Master`] leads.
    pub(super) sentinels: Option<Arc<Sentinels>>,
}

impl Connector {
    pub(super) fn new(config: Arc<Config>, clock: Clock) -> Self {
        let sentinels = match &config.topology {
            Topology::Sentinel { sentinels, master } => {
                Some(Arc::new(Sentinels::new(sentinels, master)))
            }
            _ => None,
        };
        Self {
            config,
            clock,
            sentinels,
        }
    }

    pub(super) async fn connect(
        &self,
        route: &Route,
        purpose: Purpose,
        ear: &Ear,
    ) -> Result<Fresh> {
        let work = async {
            match route {
                Route::Fixed(address) => self.connect_to(address, purpose, ear, false).await,
                Route::Master => {
                    let Some(sentinels) = &self.sentinels else {
                        return Err(Error::invalid("no sentinels to ask for a master"));
                    };
                    let look = sentinels.look(self, self.clock.now(), CONNECT_LIMIT / 2);
                    let address = look.await?.address;
                    self.connect_to(&address, purpose, ear, true).await
                }
            }
        };
        tokio::time::timeout(CONNECT_LIMIT * 2, work)
            .await
            .unwrap_or_else(|_| Err(late("Redis")))
    }

    async fn connect_to(
        &self,
        address: &Address,
        purpose: Purpose,
        ear: &Ear,
        must_be_master: bool,
    ) -> Result<Fresh> {
        let (over, ear) = (CancellationToken::new(), Arc::clone(ear));
        let end = over.clone();
        // Also when the driver ends without a word.
        let with_driver = over.clone().drop_guard();
        let hear = move |push: PushInfo| {
            let _ = &with_driver;
            match push.kind {
                PushKind::Disconnection => end.cancel(),
                _ => ear(&push),
            }
            Ok::<(), Infallible>(())
        };
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_LIMIT))
            // Each call has its own limit, and the supervisor asks for life.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(WAITING_CALLS)
            .set_write_backpressure_boundary(WRITTEN_AT_ONCE)
            .set_push_sender(hear);
        let login = self.login().await?;
        let client = self.client(address, &login, ProtocolVersion::RESP3)?;
        let connection = client.get_multiplexed_async_connection_with_config(&settings);
        let mut connection = tokio::time::timeout(CONNECT_LIMIT, connection)
            .await
            .map_err(|_| late(address))?
            .map_err(|error| unreachable(address, error))?;
        let mut up_since = None;
        if purpose == Purpose::Commands {
            let mut load = redis::pipe();
            for command in Lua::load_all() {
                load.add_command(command);
            }
            let loaded: Result<Vec<Value>, _> = load.query_async(&mut connection).await;
            loaded.map_err(|error| unreachable(address, error))?;
            if self.config.restart_grace {
                up_since = Some(self.up_since(&mut connection).await?);
            }
        }
        if must_be_master {
            check_role(&mut connection).await?;
        }
        Ok(Fresh {
            connection,
            address: address.clone(),
            over,
            up_since,
        })
    }

    /// The latest moment at which the server can have started.
    async fn up_since(&self, connection: &mut MultiplexedConnection) -> Result<Moment> {
        let asked_at = self.clock.now();
        let mut info = redis::cmd("INFO");
        info.arg("server");
        let text: String = info.query_async(connection).await.map_err(fault)?;
        let uptime = field(&text, "uptime_in_seconds").and_then(|text| text.parse().ok());
        let uptime = uptime.ok_or_else(|| nonsense("INFO without an uptime"))?;
        let begun = Duration::from_secs(1);
        // It counts the seconds of the wall clock that have begun: up to one
        // more than it has been up for.
        Ok(asked_at - Duration::from_secs(uptime).saturating_sub(begun))
    }

    /// The login of a connection that is made now.
    async fn login(&self) -> Result<Cow<'_, Login>> {
        let login = &self.config.login;
        let Some(password) = &self.config.password else {
            return Ok(Cow::Borrowed(login));
        };
        Ok(Cow::Owned(Login {
            password: Some(password.ask("password").await?),
            ..login.clone()
        }))
    }

    pub(super) fn client(
        &self,
        address: &Address,
        login: &Login,
        protocol: ProtocolVersion,
    ) -> Result<Client> {
        let mut settings = RedisConnectionInfo::default()
            .set_db(i64::from(login.db))
            .set_protocol(protocol)
            .set_skip_set_lib_name();
        if let Some(user) = &login.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &login.password {
            settings = settings.set_password(password);
        }
        let place = self.place(address);
        let is_tls = matches!(place, ConnectionAddr::TcpTls { .. });
        if is_tls {
            super::tls::ensure_provider();
        }
        let mut info = place.into_connection_info().map_err(fault)?;
        if let Some(own) = &self.config.own {
            info = info.set_tcp_settings(own.tcp_settings().clone());
        }
        let info = info.set_redis_settings(settings);
        let client = match &self.config.tls {
            Some(certificates) if is_tls => Client::build_with_tls(info, certificates.clone()),
            _ => Client::open(info),
        };
        client.map_err(|error| Error::invalid(format!("{address}: {error}")))
    }
}

impl Connector {
    /// `address`, secured as the URL or the application says.
    fn place(&self, address: &Address) -> ConnectionAddr {
        let (host, port) = match address {
            Address::Unix(path) => return ConnectionAddr::Unix(path.into()),
            Address::Tcp(host, port) => (host.clone(), *port),
        };
        match self.config.own.as_ref().map(redis::ConnectionInfo::addr) {
            Some(ConnectionAddr::TcpTls {
                insecure,
                tls_params,
                ..
            }) => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            None if self.config.tls.is_some() => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            },
            _ => ConnectionAddr::Tcp(host, port),
        }
    }
}

/// A sentinel may be behind: who it names must be master in its own eyes too.
async fn check_role(connection: &mut MultiplexedConnection) -> Result<()> {
    let answer: Result<Vec<Value>, _> = redis::cmd("ROLE").query_async(connection).await;
    match answer.as_deref() {
        Ok([Value::BulkString(role), ..]) if role != b"master" => {
            Err(Error::new(ErrorKind::Unreachable, Outcome::DidNot)
                .with_message("the master that the sentinels name has become a replica"))
        }
        // Not permitted to ask: its first write will tell.
        _ => Ok(()),
    }
}

/// The value of `name` in the text of INFO.
pub(super) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

fn late(what: impl std::fmt::Display) -> Error {
    Error::late(ErrorKind::Unreachable, what, CONNECT_LIMIT, Outcome::DidNot)
}

/// A connection that was not made: nothing has happened, whatever the cause.
pub(super) fn unreachable(address: &Address, error: redis::RedisError) -> Error {
    let judged = fault(error);
    let message = format!("{address}: {judged}");
    Error::new(judged.kind(), Outcome::DidNot)
        .with_retry(judged.retry())
        .with_message(message)
        .with_source(judged)
}
