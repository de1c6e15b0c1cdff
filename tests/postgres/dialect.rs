//! What the tests of both SQL stores need to say differently.

use sqlx::{ConnectOptions as _, Executor as _, PgConnection};
use tenure_testkit::servers::{Postgres, PostgresBuilder, Speech};

pub(crate) const SPEECH: Speech = Speech::Postgres;

pub(crate) type Options = tenure::stores::postgres::PostgresOptions;
pub(crate) type ConnectOptions = sqlx::postgres::PgConnectOptions;
pub(crate) type Database = sqlx::Postgres;

pub(crate) const SCHEME: &str = "postgres";
pub(crate) const DATABASE: &str = Postgres::DATABASE;

/// The connections beside those that are counted: for renewals, and for LISTEN.
pub(crate) const BESIDE: usize = 2;

/// Sessions that [`connections`] counts.
pub(crate) fn named(options: ConnectOptions) -> ConnectOptions {
    options.application_name("tenure")
}

pub(crate) fn trusting(options: ConnectOptions, ca: Vec<u8>) -> ConnectOptions {
    let options = options.ssl_root_cert_from_pem(ca);
    options.ssl_mode(sqlx::postgres::PgSslMode::VerifyFull)
}

pub(crate) fn new_password(word: &str) -> String {
    format!("ALTER ROLE app PASSWORD '{word}'")
}

const RULES: &str = "host all postgres all trust\nhost all all all scram-sha-256\n";

/// Whether every token is larger than those of the microseconds before.
pub(crate) const TOKENS_FOLLOW_THE_CLOCK: bool = true;

/// What makes a row one that a revocation begins again.
pub(crate) const DAMAGE: &str = "version = -5";

/// What the documentation says is enough.
const USER: &str = "CREATE USER app PASSWORD 's3cret-word'; \
     GRANT SELECT, INSERT, UPDATE ON simba_mutex, tenure_schedule TO app";

fn with_user(builder: PostgresBuilder) -> Postgres {
    with_rules(builder, RULES)
}

fn with_rules(builder: PostgresBuilder, rules: &str) -> Postgres {
    let builder = builder.file("rules", rules).set("hba_file", "{dir}/rules");
    let server = builder.start().unwrap();
    server.sql(&schema(&server.url())).unwrap();
    server.sql(USER).unwrap();
    server
}

/// A server with a user `app` who needs a password.
pub(crate) fn guarded() -> Postgres {
    with_user(Postgres::builder())
}

/// The same with few connections.
pub(crate) fn crowded() -> Postgres {
    let builder = Postgres::builder().set("max_connections", "10");
    with_user(builder.set("max_wal_senders", "0"))
}

pub(crate) fn as_app(server: &Postgres, password: &str) -> String {
    server
        .url()
        .replace("postgres@", &format!("app:{password}@"))
}

pub(crate) fn schema(url: &str) -> String {
    tenure::stores::postgres::schema(&url.parse().unwrap()).unwrap()
}

pub(crate) fn set_read_only(server: &Postgres, on: bool) {
    let sql = format!("ALTER SYSTEM SET default_transaction_read_only = {on}");
    server.sql(&sql).unwrap();
    server.sql("SELECT pg_reload_conf()").unwrap();
}

pub(crate) fn connections(server: &Postgres) -> u64 {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure'";
    server.sql(sql).unwrap().parse().unwrap()
}

/// Holds a row's lock until it is dropped.
pub(crate) async fn lock_row(server: &Postgres, mutex: &str) -> PgConnection {
    let options: sqlx::postgres::PgConnectOptions = server.url().parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    connection.execute("BEGIN").await.unwrap();
    sqlx::query("SELECT * FROM simba_mutex WHERE mutex = $1 FOR UPDATE")
        .bind(mutex)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    connection
}

/// A server with this certificate, whose user `app` must come over TLS.
pub(crate) fn encrypted(cert: &[u8], key: &[u8]) -> Postgres {
    let builder = Postgres::builder()
        .file("server.pem", cert)
        .file("server.key", key);
    let builder = builder
        .set("ssl", "on")
        .set("ssl_cert_file", "{dir}/server.pem");
    let builder = builder.set("ssl_key_file", "{dir}/server.key");
    let rules = RULES.replace("host all all", "hostssl all all");
    with_rules(builder, &rules)
}

/// The options of a URL as a hosting company shows it.
pub(crate) fn hosted(ca: &std::path::Path) -> String {
    format!(
        "sslmode=verify-full&sslrootcert={}&target_session_attrs=read-write",
        ca.display()
    )
}

/// A connection that looks at what others do.
pub(crate) type Watcher = PgConnection;

pub(crate) async fn watcher(server: &Postgres) -> Watcher {
    let options: sqlx::postgres::PgConnectOptions = server.url().parse().unwrap();
    options.connect().await.unwrap()
}

async fn count(watcher: &mut Watcher, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(watcher).await.unwrap()
}

/// Whether every session waits for its client.
pub(crate) async fn is_idle(watcher: &mut Watcher) -> bool {
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure' \
                AND wait_event_type IS DISTINCT FROM 'Client'";
    count(watcher, busy).await == 0
}

/// How many sessions wait for a row.
pub(crate) async fn blocked(watcher: &mut Watcher) -> i64 {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure' \
                   AND wait_event_type = 'Lock'";
    count(watcher, waiting).await
}

/// Whether any session holds any row.
pub(crate) async fn locked_rows(watcher: &mut Watcher) -> bool {
    for table in ["simba_mutex", "tenure_schedule"] {
        let sql = format!("SELECT * FROM {table} FOR UPDATE NOWAIT");
        let rows = watcher.fetch_all(sqlx::AssertSqlSafe(sql)).await;
        if rows.is_err() {
            return true;
        }
    }
    false
}

/// The store that waits by looking.
pub(crate) fn without_push(url: &str) -> String {
    format!("{url}?notify=off")
}

/// A server whose defaults are not those that the store works with.
pub(crate) fn contrary() -> Postgres {
    let builder = Postgres::builder()
        .set("default_transaction_isolation", "serializable")
        .set("TimeZone", "Pacific/Kiritimati")
        .set("DateStyle", "SQL, DMY")
        .set("standard_conforming_strings", "off")
        .set("lock_timeout", "0");
    builder.start().unwrap()
}

/// From now on every write to `table` changes the version once more.
pub(crate) fn rewrite_versions(server: &Postgres, table: &str) {
    let sql = format!(
        "CREATE FUNCTION {table}_rewrites() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN NEW.version := NEW.version + 1; RETURN NEW; END$$; \
         CREATE TRIGGER rewrites BEFORE UPDATE ON {table} FOR EACH ROW \
         EXECUTE FUNCTION {table}_rewrites()"
    );
    server.sql(&sql).unwrap();
}

/// From now on every write to `table` is noted elsewhere.
pub(crate) fn watch_rows(server: &Postgres, table: &str) {
    let sql = format!(
        "CREATE TABLE {table}_log (id SERIAL PRIMARY KEY, mutex TEXT); \
         CREATE FUNCTION {table}_watches() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN INSERT INTO {table}_log (mutex) VALUES (NEW.mutex); RETURN NULL; END$$; \
         CREATE TRIGGER watches AFTER UPDATE ON {table} FOR EACH ROW \
         EXECUTE FUNCTION {table}_watches()"
    );
    server.sql(&sql).unwrap();
}
