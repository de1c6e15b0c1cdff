//! What the tests of both SQL stores need to say differently.

use sqlx::{ConnectOptions as _, Executor as _, MySqlConnection};
use tenure_testkit::servers::{MariaDb, MariaDbBuilder, Speech};

pub(crate) const SPEECH: Speech = Speech::MySql;

pub(crate) type Options = tenure::stores::mysql::MySqlOptions;
pub(crate) type ConnectOptions = sqlx::mysql::MySqlConnectOptions;
pub(crate) type Database = sqlx::MySql;

pub(crate) const SCHEME: &str = "mysql";
pub(crate) const DATABASE: &str = MariaDb::DATABASE;

/// The connections beside those that are counted: for renewals.
pub(crate) const BESIDE: usize = 1;

/// Sessions that [`connections`] counts: by their database.
pub(crate) fn named(options: ConnectOptions) -> ConnectOptions {
    options
}

pub(crate) fn trusting(options: ConnectOptions, ca: Vec<u8>) -> ConnectOptions {
    let options = options.ssl_ca_from_pem(ca);
    options.ssl_mode(sqlx::mysql::MySqlSslMode::VerifyIdentity)
}

pub(crate) fn new_password(word: &str) -> String {
    format!("ALTER USER app@'%' IDENTIFIED BY '{word}'")
}

/// Whether every token is larger than those of the microseconds before: not
/// within a second.
pub(crate) const TOKENS_FOLLOW_THE_CLOCK: bool = false;

/// What makes a row one that a revocation mends.
pub(crate) const DAMAGE: &str = "transition_at = 9000000000000000";

/// What the documentation says is enough.
const USER: &str = "CREATE USER app@'%' IDENTIFIED BY 's3cret-word'; \
     GRANT SELECT, INSERT, UPDATE ON tenure.simba_mutex TO app@'%'; \
     GRANT SELECT, INSERT, UPDATE ON tenure.tenure_schedule TO app@'%'";

fn with_user(builder: MariaDbBuilder) -> MariaDb {
    let server = builder.start().unwrap();
    server.sql(&schema(&server.url())).unwrap();
    server.sql(USER).unwrap();
    server
}

/// A server with a user `app` who needs a password.
pub(crate) fn guarded() -> MariaDb {
    with_user(MariaDb::builder())
}

/// The same with few connections.
pub(crate) fn crowded() -> MariaDb {
    with_user(MariaDb::builder().set("max-connections", "10"))
}

pub(crate) fn as_app(server: &MariaDb, password: &str) -> String {
    server.url().replace("root@", &format!("app:{password}@"))
}

pub(crate) fn schema(url: &str) -> String {
    tenure::stores::mysql::schema(&url.parse().unwrap()).unwrap()
}

pub(crate) fn set_read_only(server: &MariaDb, on: bool) {
    let sql = format!("SET GLOBAL read_only = {}", u8::from(on));
    server.sql(&sql).unwrap();
}

pub(crate) fn connections(server: &MariaDb) -> u64 {
    let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
               WHERE DB = 'tenure' AND ID <> CONNECTION_ID()";
    server.sql(sql).unwrap().parse().unwrap()
}

/// Holds a row's lock until it is dropped.
pub(crate) async fn lock_row(server: &MariaDb, mutex: &str) -> MySqlConnection {
    let options: sqlx::mysql::MySqlConnectOptions = server.url().parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    connection.execute("BEGIN").await.unwrap();
    sqlx::query("SELECT * FROM simba_mutex WHERE mutex = ? FOR UPDATE")
        .bind(mutex)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    connection
}

/// A server with this certificate, whose user `app` must come over TLS.
pub(crate) fn encrypted(cert: &[u8], key: &[u8]) -> MariaDb {
    let builder = MariaDb::builder()
        .file("server.pem", cert)
        .file("server.key", key);
    let builder = builder.set("ssl-cert", "{dir}/server.pem");
    let server = with_user(builder.set("ssl-key", "{dir}/server.key"));
    server.sql("ALTER USER app@'%' REQUIRE SSL").unwrap();
    server
}

/// The options of a URL as a hosting company shows it.
pub(crate) fn hosted(ca: &std::path::Path) -> String {
    format!(
        "ssl-mode=VERIFY_IDENTITY&ssl-ca={}&charset=utf8mb4",
        ca.display()
    )
}

/// A connection that looks at what others do.
pub(crate) type Watcher = MySqlConnection;

pub(crate) async fn watcher(server: &MariaDb) -> Watcher {
    let options: sqlx::mysql::MySqlConnectOptions = server.url().parse().unwrap();
    options.connect().await.unwrap()
}

async fn count(watcher: &mut Watcher, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(watcher).await.unwrap()
}

/// Whether every session waits for its client.
pub(crate) async fn is_idle(watcher: &mut Watcher) -> bool {
    let busy = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'tenure' \
                AND COMMAND <> 'Sleep' AND ID <> CONNECTION_ID()";
    count(watcher, busy).await == 0
}

/// How many sessions wait for a row: nothing else takes so long here. (The
/// table of transactions shows old news to one who asks often.)
pub(crate) async fn blocked(watcher: &mut Watcher) -> i64 {
    let waiting = match MariaDb::is_mysql() {
        // It counts whole seconds there, and tells who waits.
        true => {
            "SELECT COUNT(DISTINCT REQUESTING_THREAD_ID) FROM performance_schema.data_lock_waits"
        }
        false => {
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'tenure' \
             AND COMMAND <> 'Sleep' AND TIME_MS > 100 AND ID <> CONNECTION_ID()"
        }
    };
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

/// The store that waits by looking: as it always does.
pub(crate) fn without_push(url: &str) -> String {
    url.to_owned()
}

/// A server whose defaults are not those that the store works with.
pub(crate) fn contrary() -> MariaDb {
    let builder = MariaDb::builder()
        .set("autocommit", "0")
        .set("transaction-isolation", "SERIALIZABLE")
        .set("sql-mode", "ANSI")
        .set("default-time-zone", "+13:00")
        .set("character-set-server", "latin1");
    builder.start().unwrap()
}

/// From now on every write to `table` changes the version once more.
pub(crate) fn rewrite_versions(server: &MariaDb, table: &str) {
    let sql = format!(
        "CREATE TRIGGER {table}_rewrites BEFORE UPDATE ON {table} FOR EACH ROW \
         SET NEW.version = NEW.version + 1"
    );
    server.sql(&sql).unwrap();
}

/// From now on every write to `table` is noted elsewhere, under numbers that
/// the server gives.
pub(crate) fn watch_rows(server: &MariaDb, table: &str) {
    let sql = format!(
        "CREATE TABLE {table}_log (id INT AUTO_INCREMENT PRIMARY KEY, mutex VARCHAR(66)); \
         CREATE TRIGGER {table}_watches AFTER UPDATE ON {table} FOR EACH ROW \
         INSERT INTO {table}_log (mutex) VALUES (NEW.mutex)"
    );
    server.sql(&sql).unwrap();
}
