//! What the options of MySQL say.

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

use super::dialect::MySql;
use super::statements::Statements;
use super::words::FOREIGN;
use crate::clock::Clock;
use crate::error::Result;
use crate::stores::StoreOptions;
use crate::stores::sql::{self, Client, Origin, Settings, Target, Tls, TlsMode};

/// Opens `mysql://user:password@host:port/database?…`, and makes the tables if
/// they are missing and the URL does not forbid it.
pub(in crate::stores) async fn open(options: &StoreOptions, clock: Clock) -> Result<Client<MySql>> {
    let own = options.in_code.mysql.as_ref();
    let (settings, target, ()) = read(options)?;
    let (source, place) = sql::way("MySQL", target.as_ref(), own, driver_options);
    let mysql = MySql::new(
        Origin::new(source, options.in_code.password.clone()),
        Statements::new(&settings.table, &settings.schedule_table),
        place,
        settings.margin,
    );
    Client::open(mysql, &settings, clock).await
}

/// The statements that make the tables which `options` name: for those who do not
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
/// [`Invalid`](crate::ErrorKind::Invalid) when the options are not valid.
pub fn schema(options: &StoreOptions) -> Result<String> {
    let (settings, ..) = read(options)?;
    let statements = Statements::new(&settings.table, &settings.schedule_table);
    let ddl = super::schema::ddl(&statements).map(|ddl| ddl + ";\n");
    let extension = super::schema::extension(&statements);
    Ok(format!(
        "{}\n-- A table of an earlier version lacks a column:\n-- {extension};\n",
        ddl.join("\n")
    ))
}

fn read(options: &StoreOptions) -> Result<(Settings, Option<Target>, ())> {
    let own = options.in_code.mysql.as_ref();
    sql::read(options, own, FOREIGN, 3306, |_| Ok(()))
}

fn driver_options(target: &Target) -> MySqlConnectOptions {
    let mut options = MySqlConnectOptions::new()
        .host(&target.host)
        .port(target.port)
        .database(&target.database)
        .username(target.user.as_deref().unwrap_or("root"));
    if let Some(password) = &target.password {
        options = options.password(password);
    }
    if let Some(socket) = &target.socket {
        options = options.socket(socket);
    }
    secured(options, &target.tls)
}

/// The same place, with what this store's statements need of a session.
pub(super) fn for_statements(options: MySqlConnectOptions) -> MySqlConnectOptions {
    use sqlx::ConnectOptions as _;
    let options = match options.get_collation() {
        // It must go with the character set.
        Some(_) => options.collation("utf8mb4_bin"),
        None => options,
    };
    options
        .charset("utf8mb4")
        .set_names(true)
        // The session is set up in one statement of our own.
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .timezone(None)
        .disable_statement_logging()
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
