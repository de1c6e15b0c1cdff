//! [`PostgresOptions`]: the options of PostgreSQL, set in code.

crate::stores::sql::sql_options! {
    pub struct PostgresOptions of postgres, "PostgreSQL";
    port = "5432";
    user = "postgres";
    driver = postgres, PgPool, PgConnectOptions;
    more {
        /// Whether waiters are told by NOTIFY: `notify`, on unless set. Off behind a pooler in
        /// transaction mode.
        with_notify: switch = "notify";
    }
}
