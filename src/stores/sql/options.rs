//! The options of MySQL and of PostgreSQL, set in code: made by one macro, so that both have the
//! same and say the same of them.

/// The options of the database `$scheme`, which connects by `$connect` of the driver; `more` are
/// those that it has alone.
macro_rules! sql_options {
    (
        pub struct $name:ident of $scheme:ident, $database:literal;
        port = $port:literal;
        user = $user:literal;
        driver = $driver:ident, $pool:ident, $connect:ident;
        more { $($more:tt)* }
    ) => {
        #[cfg(feature = "sqlx-0_9")]
        use sqlx::{$pool, $driver::$connect};

        use $crate::backend::url::HostPort;
        use $crate::stores::StoreOptions;
        #[cfg(feature = "sqlx-0_9")]
        use $crate::stores::code::Own;
        use $crate::stores::kit::Source;
        use $crate::stores::sql::TlsMode;

        $crate::stores::typed::typed_options! {
            #[doc = concat!(
                "The options of ", $database,
                ", set in code: the same as in a URL, with the same checks."
            )]
            ///
            /// ```
            /// use tenure::stores::TlsMode;
            #[doc = concat!("use tenure::stores::", stringify!($scheme::$name), ";")]
            ///
            #[doc = concat!("let options = ", stringify!($name), "::new(\"db.example\", \"orders\")")]
            ///     .with_user("app")
            ///     .with_password("s3cret")
            ///     .with_tls(TlsMode::VerifyFull)
            ///     .with_table("locks");
            /// assert!(!format!("{options:?}").contains("s3cret"));
            /// tenure::stores::check(&options.into())?; // or Coordinator::connect(options).await
            /// # Ok::<(), tenure::Error>(())
            /// ```
            pub struct $name with lease;
            /// A Unix socket to connect through: `socket`.
            with_socket: path = "socket";
            /// The table of mutexes, or `schema.table`: `table`.
            with_table: text = "table";
            /// The table of schedules: `schedule_table`.
            with_schedule_table: text = "schedule_table";
            /// Whether tables that are missing are made: `create`, on unless set.
            with_create: switch = "create";
            /// How many connections there may be beside the one for renewals and, on PostgreSQL,
            /// the one that listens: `connections`, 4 unless set.
            with_connections: number = "connections";
            /// How much security is insisted on: `tls`.
            with_tls: choice(TlsMode) = "tls";
            /// A PEM file with the authorities that are trusted: `tls_ca`.
            with_tls_ca: path = "tls_ca";
            /// A PEM file with the client's certificate: `tls_cert`.
            with_tls_cert: path = "tls_cert";
            /// A PEM file with its key: `tls_key`.
            with_tls_key: path = "tls_key";
            $($more)*
        }

        impl $name {
            #[doc = concat!(
                "The server at `host`, which may have a port (`\"db:", $port,
                "\"`), and a database on it."
            )]
            pub fn new(host: impl Into<HostPort>, database: impl Into<String>) -> Self {
                let mut options = StoreOptions::at(stringify!($scheme), [host]);
                options.change(|url| {
                    url.set_path(format!("/{}", database.into()));
                    Ok(())
                });
                Self(options)
            }

            #[doc = concat!("The port, unless the host was given with one; otherwise ", $port, ".")]
            pub fn with_port(mut self, port: u16) -> Self {
                self.0.set_port(port);
                self
            }

            #[doc = concat!("Who connects; otherwise `", $user, "`.")]
            pub fn with_user(mut self, user: impl Into<String>) -> Self {
                self.0.set_user(user.into());
                self
            }

            /// The password. It is shown nowhere.
            pub fn with_password(mut self, password: impl Into<String>) -> Self {
                self.0.set_password(password.into());
                self
            }

            /// Asks for the password before every new connection, for one that changes: a token of
            /// AWS, Google or Azure, a secret that is rotated. Connections that stand are not
            /// touched.
            ///
            /// It has the time that connecting has, `call_timeout`, together with the connecting.
            /// What it fails with is told as a store that cannot be reached, and tried again.
            ///
            /// ```
            #[doc = concat!("use tenure::stores::", stringify!($scheme::$name), ";")]
            /// # async fn token() -> std::io::Result<String> { Ok("token".to_owned()) }
            ///
            #[doc = concat!("let options = ", stringify!($name), "::new(\"db\", \"orders\")")]
            ///     .with_user("app")
            ///     .with_password_from(token);
            /// # tenure::stores::check(&options.into())?;
            /// # Ok::<(), tenure::Error>(())
            /// ```
            pub fn with_password_from<F, A, E>(mut self, password: F) -> Self
            where
                F: Fn() -> A + Send + Sync + 'static,
                A: Future<Output = Result<String, E>> + Send + 'static,
                E: Into<Box<dyn std::error::Error + Send + Sync>>,
            {
                self.0.in_code.password = Some(Source::new(password));
                self
            }
        }

        /// With the application's own connections, through sqlx 0.9: where and how they connect is
        /// theirs, the connections are this store's. `docs/own-connections.md` says what that means.
        #[cfg(feature = "sqlx-0_9")]
        impl $name {
            /// Connects as `pool` does, with the options that it has at the moment of connecting:
            /// also with those that `set_connect_options` gave it later.
            ///
            /// No connection is taken from the pool: one that is exhausted ends no tenure. Its
            /// hooks, such as `after_connect`, are not run.
            ///
            /// ```
            #[doc = concat!("use sqlx::", stringify!($pool), ";")]
            #[doc = concat!("use tenure::stores::", stringify!($scheme::$name), ";")]
            ///
            #[doc = concat!("fn options(pool: &", stringify!($pool), ") -> ", stringify!($name), " {")]
            #[doc = concat!("    ", stringify!($name), "::from_pool(pool).with_connections(2)")]
            /// }
            /// ```
            pub fn from_pool(pool: &$pool) -> Self {
                let (pool, place) = (pool.clone(), place(&pool.connect_options()));
                let options = Source::ready(move || $connect::clone(&pool.connect_options()));
                Self::own(options, Some(place))
            }

            /// Connects with these options: whatever the driver can do, such as TLS made in code.
            ///
            /// ```
            /// # fn main() -> tenure::Result<()> {
            #[doc = concat!("use sqlx::", stringify!($driver::$connect), ";")]
            #[doc = concat!("use tenure::stores::", stringify!($scheme::$name), ";")]
            ///
            #[doc = concat!("let options = ", stringify!($connect), "::new().host(\"db\").database(\"orders\");")]
            #[doc = concat!("let options = ", stringify!($name), "::from_connect_options(options).with_table(\"locks\");")]
            /// # tenure::stores::check(&options.into())
            /// # }
            /// ```
            pub fn from_connect_options(options: $connect) -> Self {
                let place = place(&options);
                Self::own(Source::ready(move || options.clone()), Some(place))
            }

            /// Asks for the options before every new connection: where more than the
            /// [password](Self::with_password_from) changes.
            pub fn from_provider<F, A, E>(provider: F) -> Self
            where
                F: Fn() -> A + Send + Sync + 'static,
                A: Future<Output = Result<$connect, E>> + Send + 'static,
                E: Into<Box<dyn std::error::Error + Send + Sync>>,
            {
                Self::own(Source::new(provider), None)
            }

            fn own(options: Source<$connect>, place: Option<String>) -> Self {
                let mut own = StoreOptions::without_hosts(stringify!($scheme));
                own.in_code.$scheme = Some(Own { options, place });
                Self(own)
            }
        }

        #[cfg(feature = "sqlx-0_9")]
        fn place(options: &$connect) -> String {
            match options.get_socket() {
                Some(socket) => socket.display().to_string(),
                None => format!("{}:{}", options.get_host(), options.get_port()),
            }
        }

        #[cfg(test)]
        mod tests {
            use super::*;
            use $crate::stores::typed::tests::every_option_has_its_twin;

            #[test]
            fn every_option_of_the_url_can_be_set_in_code() {
                let made = $name::new("h", "d");
                every_option_has_its_twin(&[concat!(stringify!($scheme), "://h/d")], &made, &[]);
            }

            #[test]
            fn the_parts_of_the_url_can_be_set_in_code() {
                let text = concat!(stringify!($scheme), "://u%40:p%2F@[::1]:7/d");
                let text: StoreOptions = text.parse().unwrap();
                let made = $name::new("::1", "d")
                    .with_port(7)
                    .with_user("u@")
                    .with_password("p/");
                let made = StoreOptions::from(made);
                assert_eq!(text.url().unwrap(), made.url().unwrap());
            }
        }
    };
}

pub(in crate::stores) use sql_options;
