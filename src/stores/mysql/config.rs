//! What a `mysql:` URL says.

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

use super::dialect::MySql;
use super::statements::Statements;
use crate::backend::url::{Foreign, Meaning, StoreUrl};
use crate::clock::Clock;
use crate::error::Result;
use crate::stores::sql::{Client, Settings, Tls, TlsMode};

/// How much security, as the clients of MySQL and Connector/J say it.
const SSL_MODES: Meaning = Meaning::Each(
    "tls",
    &[
        ("DISABLED", "off"),
        ("PREFERRED", "prefer"),
        ("REQUIRED", "require"),
        ("VERIFY_CA", "verify-ca"),
        ("VERIFY_IDENTITY", "verify-full"),
    ],
);

/// What URLs for other clients and hosted servers say.
const OF_CLIENTS: [Foreign; 10] = [
    Foreign {
        theirs: "ssl-mode",
        meaning: SSL_MODES,
    },
    Foreign {
        theirs: "sslMode",
        meaning: SSL_MODES,
    },
    Foreign {
        theirs: "useSSL",
        meaning: Meaning::Each("tls", &[("true", "require"), ("false", "off")]),
    },
    Foreign {
        theirs: "ssl",
        meaning: Meaning::Each("tls", &[("true", "require"), ("false", "off")]),
    },
    Foreign {
        theirs: "ssl-ca",
        meaning: Meaning::Same("tls_ca"),
    },
    Foreign {
        theirs: "ssl-cert",
        meaning: Meaning::Same("tls_cert"),
    },
    Foreign {
        theirs: "ssl-key",
        meaning: Meaning::Same("tls_key"),
    },
    Foreign {
        theirs: "charset",
        meaning: Meaning::AsItIs(&["utf8mb4"]),
    },
    Foreign {
        theirs: "serverTimezone",
        meaning: Meaning::Instead("all times of this store are UTC"),
    },
    Foreign {
        theirs: "allowPublicKeyRetrieval",
        meaning: Meaning::Instead("over TLS (tls=require) no key has to be asked for"),
    },
];

/// Opens `mysql://user:password@host:port/database?…`, and makes the tables if
/// they are missing and the URL does not forbid it.
pub(in crate::stores) async fn open(url: &StoreUrl, clock: Clock) -> Result<Client<MySql>> {
    let settings = settings(url)?;
    let mysql = MySql::new(
        options(url, &settings),
        Statements::new(&settings.table, &settings.schedule_table),
        format!("MySQL at {}:{}", settings.host, settings.port),
    );
    Client::open(mysql, &settings, clock).await
}

/// The statements that make the tables which `url` names: for those who do not
/// let a service make them (`create=false`).
///
/// ```
/// let url = "mysql://app@db/orders?table=locks".parse()?;
/// let ddl = tenure::stores::mysql::schema(&url)?;
/// assert!(ddl.contains("CREATE TABLE IF NOT EXISTS `locks`"));
/// # Ok::<(), tenure::Error>(())
/// ```
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) when the URL is not valid.
pub fn schema(url: &StoreUrl) -> Result<String> {
    let settings = settings(url)?;
    let statements = Statements::new(&settings.table, &settings.schedule_table);
    let ddl = super::schema::ddl(&statements).map(|ddl| ddl + ";\n");
    let extension = super::schema::extension(&statements);
    Ok(format!(
        "{}\n-- A table of an earlier version lacks a column:\n-- {extension};\n",
        ddl.join("\n")
    ))
}

fn settings(url: &StoreUrl) -> Result<Settings> {
    let mut options = url.options();
    options.translate(&OF_CLIENTS)?;
    let settings = Settings::take(url, &mut options, 3306)?;
    options.finish()?;
    Ok(settings)
}

fn options(url: &StoreUrl, settings: &Settings) -> MySqlConnectOptions {
    use sqlx::ConnectOptions as _;
    let mut options = MySqlConnectOptions::new()
        .host(&settings.host)
        .port(settings.port)
        .database(&settings.database)
        .username(url.user().unwrap_or("root"))
        .charset("utf8mb4")
        // The session is set up in one statement of our own.
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .timezone(None)
        .disable_statement_logging();
    if let Some(password) = url.password() {
        options = options.password(password);
    }
    if let Some(socket) = &settings.socket {
        options = options.socket(socket);
    }
    secured(options, &settings.tls)
}

fn secured(options: MySqlConnectOptions, tls: &Tls) -> MySqlConnectOptions {
    let mut options = options.ssl_mode(match tls.mode {
        TlsMode::Off => MySqlSslMode::Disabled,
        TlsMode::Prefer => MySqlSslMode::Preferred,
        TlsMode::Require => MySqlSslMode::Required,
        TlsMode::VerifyCa => MySqlSslMode::VerifyCa,
        TlsMode::VerifyFull => MySqlSslMode::VerifyIdentity,
    });
    if let Some(ca) = &tls.ca {
        options = options.ssl_ca(ca);
    }
    if let (Some(cert), Some(key)) = (&tls.cert, &tls.key) {
        options = options.ssl_client_cert(cert).ssl_client_key(key);
    }
    options
}
