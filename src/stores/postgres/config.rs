//! What a `postgres:` URL says.

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::dialect::Postgres;
use super::statements::Statements;
use super::wire::Wire;
use crate::backend::url::{Foreign, Meaning, StoreUrl};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::stores::sql::{Client, Settings, Tls, TlsMode};

/// The longest name of a channel, less what is added to the table's.
const LONGEST_TABLE: usize = 56;

/// What URLs for libpq and hosted servers say.
const OF_LIBPQ: [Foreign; 10] = [
    Foreign {
        theirs: "sslmode",
        meaning: Meaning::Each(
            "tls",
            &[
                ("disable", "off"),
                ("allow", "prefer"),
                ("prefer", "prefer"),
                ("require", "require"),
                ("verify-ca", "verify-ca"),
                ("verify-full", "verify-full"),
            ],
        ),
    },
    Foreign {
        theirs: "sslrootcert",
        meaning: Meaning::Same("tls_ca"),
    },
    Foreign {
        theirs: "sslcert",
        meaning: Meaning::Same("tls_cert"),
    },
    Foreign {
        theirs: "sslkey",
        meaning: Meaning::Same("tls_key"),
    },
    // Who cannot write cannot take, and is told so.
    Foreign {
        theirs: "target_session_attrs",
        meaning: Meaning::AsItIs(&["any", "read-write", "primary"]),
    },
    // The driver does not bind channels.
    Foreign {
        theirs: "channel_binding",
        meaning: Meaning::AsItIs(&["disable", "prefer"]),
    },
    Foreign {
        theirs: "connect_timeout",
        meaning: Meaning::Instead("call_timeout=5s limits every call, connecting too"),
    },
    Foreign {
        theirs: "application_name",
        meaning: Meaning::Instead("the sessions of this store are called tenure"),
    },
    Foreign {
        theirs: "options",
        meaning: Meaning::Instead("give the role its settings with ALTER ROLE"),
    },
    Foreign {
        theirs: "pgbouncer",
        meaning: Meaning::Instead("behind a pooler in transaction mode write notify=off"),
    },
];

/// Opens `postgres://user:password@host:port/database?…`, and makes the tables
/// if they are missing and the URL does not forbid it.
pub(in crate::stores) async fn open(url: &StoreUrl, clock: Clock) -> Result<Client<Postgres>> {
    let (settings, notify) = settings(url)?;
    refuse_session_options(std::env::var_os("PGOPTIONS"))?;
    let postgres = Postgres {
        options: options(url, &settings),
        statements: statements(&settings),
        wire: Wire::new(settings.limits.call, notify),
        place: format!("PostgreSQL at {}:{}", settings.host, settings.port),
        limits: settings.limits,
        notify,
    };
    Client::open(postgres, &settings, clock).await
}

/// The statements that make the tables which `url` names: for those who do not
/// let a service make them (`create=false`).
///
/// ```
/// let url = "postgres://app@db/orders?table=locks".parse()?;
/// let ddl = tenure::stores::postgres::schema(&url)?;
/// assert!(ddl.contains("CREATE TABLE IF NOT EXISTS \"locks\""));
/// # Ok::<(), tenure::Error>(())
/// ```
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) when the URL is not valid.
pub fn schema(url: &StoreUrl) -> Result<String> {
    let (settings, _) = settings(url)?;
    let statements = statements(&settings);
    let ddl = super::schema::ddl(&statements).into_iter();
    let ddl = ddl.chain([super::schema::extension(&statements)]);
    Ok(ddl.map(|ddl| ddl + ";\n").collect::<Vec<_>>().join("\n"))
}

fn statements(settings: &Settings) -> Statements {
    Statements::new(&settings.table, &settings.schedule_table)
}

fn settings(url: &StoreUrl) -> Result<(Settings, bool)> {
    let mut options = url.options();
    options.translate(&OF_LIBPQ)?;
    let settings = Settings::take(url, &mut options, 5432)?;
    let notify = options.switch("notify")?.unwrap_or(true);
    options.finish()?;
    if settings.table.len() > LONGEST_TABLE {
        return Err(Error::invalid(format!(
            "the option \"table\" has at most {LONGEST_TABLE} letters, as it names a channel too"
        )));
    }
    Ok((settings, notify))
}

/// The driver takes `PGOPTIONS` and has no way to leave it out. It can turn
/// every promise around (`search_path`: another table, with other owners;
/// read-only transactions; time limits), so nobody connects under it.
fn refuse_session_options(options: Option<std::ffi::OsString>) -> Result<()> {
    let text = options.unwrap_or_default();
    if text.to_string_lossy().trim().is_empty() {
        return Ok(());
    }
    // Not repeated: it may hold anything.
    Err(Error::invalid(
        "the environment variable PGOPTIONS is set: it changes how the server treats this \
         store's statements, and which tables they mean. Unset it for this process (env -u \
         PGOPTIONS ...), and give the role its settings with ALTER ROLE",
    ))
}

/// All of the place is the URL's. Of the environment only PGPASSWORD counts, and
/// PGSSLROOTCERT, PGSSLCERT and PGSSLKEY, where the URL names nothing else.
fn options(url: &StoreUrl, settings: &Settings) -> PgConnectOptions {
    use sqlx::ConnectOptions as _;
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(&settings.host)
        .port(settings.port)
        .database(&settings.database)
        .username(url.user().unwrap_or("postgres"))
        .application_name("tenure")
        // Poolers refuse parameters that they do not know.
        .extra_float_digits(None)
        .disable_statement_logging();
    if let Some(password) = url.password() {
        options = options.password(password);
    }
    if let Some(socket) = &settings.socket {
        options = options.socket(socket);
    }
    secured(options, &settings.tls)
}

fn secured(options: PgConnectOptions, tls: &Tls) -> PgConnectOptions {
    let mut options = options.ssl_mode(match tls.mode {
        TlsMode::Off => PgSslMode::Disable,
        TlsMode::Prefer => PgSslMode::Prefer,
        TlsMode::Require => PgSslMode::Require,
        TlsMode::VerifyCa => PgSslMode::VerifyCa,
        TlsMode::VerifyFull => PgSslMode::VerifyFull,
    });
    if let Some(ca) = &tls.ca {
        options = options.ssl_root_cert(ca);
    }
    if let (Some(cert), Some(key)) = (&tls.cert, &tls.key) {
        options = options.ssl_client_cert(cert).ssl_client_key(key);
    }
    options
}
