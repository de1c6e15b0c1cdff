//! What the options of PostgreSQL say.

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::dialect::Postgres;
use super::statements::Statements;
use super::wire::Wire;
use super::words::FOREIGN;
use crate::backend::url::Options;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::stores::StoreOptions;
use crate::stores::sql::{self, Client, Origin, Settings, Target, Tls, TlsMode};

/// The longest name of a channel, less what is added to the table's.
const LONGEST_TABLE: usize = 56;

/// Opens `postgres://user:password@host:port/database?…`, and makes the tables
/// if they are missing and the URL does not forbid it.
pub(in crate::stores) async fn open(
    options: &StoreOptions,
    clock: Clock,
) -> Result<Client<Postgres>> {
    let own = options.in_code.postgres.as_ref();
    let (settings, target, notify) = read(options)?;
    if target.is_some() {
        refuse_environment(std::env::var_os("PGOPTIONS"))?;
    }
    let (source, place) = sql::way("PostgreSQL", target.as_ref(), own, driver_options);
    let postgres = Postgres {
        origin: Origin::new(source, options.in_code.password.clone()),
        statements: statements(&settings),
        wire: Wire::new(settings.limits.call, notify),
        place,
        limits: settings.limits,
        margin: settings.margin,
        notify,
    };
    Client::open(postgres, &settings, clock).await
}

/// The statements that make the tables which `options` name: for those who do not
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
/// [`Invalid`](crate::ErrorKind::Invalid) when the options are not valid.
pub fn schema(options: &StoreOptions) -> Result<String> {
    let (settings, ..) = read(options)?;
    let statements = statements(&settings);
    let ddl = super::schema::ddl(&statements).into_iter();
    let ddl = ddl.chain([super::schema::extension(&statements)]);
    Ok(ddl.map(|ddl| ddl + ";\n").collect::<Vec<_>>().join("\n"))
}

fn statements(settings: &Settings) -> Statements {
    Statements::new(&settings.table, &settings.schedule_table)
}

/// The last is whether hints are pushed.
fn read(options: &StoreOptions) -> Result<(Settings, Option<Target>, bool)> {
    let own = options.in_code.postgres.as_ref();
    let notify = |options: &mut Options| options.switch("notify");
    let (settings, target, notify) = sql::read(options, own, FOREIGN, 5432, notify)?;
    if settings.table.len() > LONGEST_TABLE {
        return Err(Error::invalid(format!(
            "the option \"table\" has at most {LONGEST_TABLE} letters, as it names a channel too"
        )));
    }
    Ok((settings, target, notify.unwrap_or(true)))
}

/// The driver takes `PGOPTIONS` and has no way to leave it out. It can turn
/// every promise around (`search_path`: another table, with other owners;
/// read-only transactions; time limits), so the store does not connect under it.
fn refuse_environment(options: Option<std::ffi::OsString>) -> Result<()> {
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

/// Settings of a session that the application's own options must leave alone: which table a
/// statement means, and whether what was committed survives a crash. What else can be set there is
/// set again for every statement, or costs no more than an error.
const KEPT: [&str; 2] = ["search_path", "synchronous_commit"];

/// The same place, with what this store's statements need of a session.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for a setting that takes a promise away.
pub(super) fn for_statements(options: PgConnectOptions) -> Result<PgConnectOptions> {
    use sqlx::ConnectOptions as _;
    // The server takes these names in any case, and with dashes too.
    let session = options.get_options().unwrap_or_default();
    let session = session.to_ascii_lowercase().replace('-', "_");
    if let Some(setting) = KEPT.iter().find(|setting| session.contains(*setting)) {
        return Err(Error::invalid(format!(
            "the application's connection options (or PGOPTIONS) set {setting} for the session: \
             give this store options without it; name a schema in the option \"table\", as in \
             \"app.locks\", and set others with ALTER ROLE"
        )));
    }
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("tenure"),
    };
    // Poolers refuse parameters that they do not know.
    Ok(options.extra_float_digits(None).disable_statement_logging())
}

/// All of the place is the URL's. Of the environment only PGPASSWORD counts, and
/// PGSSLROOTCERT, PGSSLCERT and PGSSLKEY, where the URL names nothing else.
fn driver_options(target: &Target) -> PgConnectOptions {
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(&target.host)
        .port(target.port)
        .database(&target.database)
        .username(target.user.as_deref().unwrap_or("postgres"))
        .application_name("tenure");
    if let Some(password) = &target.password {
        options = options.password(password);
    }
    if let Some(socket) = &target.socket {
        options = options.socket(socket);
    }
    secured(options, &target.tls)
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
