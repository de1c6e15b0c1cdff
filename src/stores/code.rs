//! [`InCode`]: what no URL can say, because it is no text or is asked for again and again.

#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::kit::Source;

/// What no URL can say.
#[derive(Clone, Default)]
pub(super) struct InCode {
    /// Asked for before every connection, in place of the URL's.
    #[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
    pub(super) password: Option<super::kit::Source<String>>,
    /// How the application connects to MySQL.
    #[cfg(feature = "mysql")]
    pub(super) mysql: Option<Own<sqlx::mysql::MySqlConnectOptions>>,
    /// How the application connects to PostgreSQL.
    #[cfg(feature = "postgres")]
    pub(super) postgres: Option<Own<sqlx::postgres::PgConnectOptions>>,
    /// How the application connects to Redis: a server, with its TLS and TCP settings.
    #[cfg(feature = "redis")]
    pub(super) redis: Option<redis::ConnectionInfo>,
    /// What a SQLite file is encrypted with.
    #[cfg(feature = "sqlite")]
    pub(super) key: Option<super::kit::Secret>,
    /// What is set on every new connection to a SQLite file.
    #[cfg(feature = "sqlite")]
    pub(super) pragmas: Vec<(String, String)>,
}

/// The application's way to a SQL server.
#[cfg(any(feature = "mysql", feature = "postgres"))]
#[derive(Clone)]
pub(super) struct Own<O> {
    pub(super) options: Source<O>,
    /// Where it leads, for messages, as far as it is known.
    pub(super) place: Option<String>,
}

#[cfg(any(feature = "mysql", feature = "postgres"))]
impl<O> Own<O> {
    pub(super) fn place(&self, server: &str) -> String {
        let place = self.place.as_ref();
        place.map_or_else(|| server.to_owned(), |place| format!("{server} at {place}"))
    }
}
