//! What the tests of both SQL stores need to say differently.

use sqlx::{ConnectOptions as _, Executor as _, PgConnection};
use tenure_testkit::servers::{Postgres, PostgresBuilder};

const RULES: &str = "host all postgres all trust\nhost all all all scram-sha-256\n";

fn with_user(builder: PostgresBuilder) -> Postgres {
    let builder = builder.file("rules", RULES).set("hba_file", "{dir}/rules");
    let server = builder.start().unwrap();
    server
        .sql("CREATE USER app PASSWORD 's3cret-word'")
        .unwrap();
    server.sql("GRANT ALL ON SCHEMA public TO app").unwrap();
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

pub(crate) fn only_documented_privileges(server: &Postgres) {
    let sql = "REVOKE ALL ON SCHEMA public FROM app; GRANT USAGE ON SCHEMA public TO app; \
               GRANT SELECT, INSERT, UPDATE ON simba_mutex, tenure_schedule TO app";
    server.sql(sql).unwrap();
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
