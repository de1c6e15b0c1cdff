//! What the application's own connect options may set for a session.

use sqlx::postgres::PgConnectOptions;
use tenure::stores::postgres::PostgresOptions;
use tenure::{Coordinator, ErrorKind};

use crate::SERVER;

#[tokio::test]
async fn what_takes_a_promise_away_is_refused_and_the_rest_is_harmless() {
    let base: PgConnectOptions = SERVER.url().parse().unwrap();
    let with = |options: &[(&str, &str)]| {
        let options = base.clone().options(options.iter().copied());
        Coordinator::connect(PostgresOptions::from_connect_options(options))
    };
    for setting in [("search_path", "app"), ("synchronous_commit", "off")] {
        let error = with(&[setting]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert!(error.to_string().contains(setting.0), "{error}");
    }
    // As the server takes them, too.
    for setting in [("Search_Path", "app"), ("synchronous-commit", "off")] {
        let error = with(&[setting]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{setting:?}: {error:?}");
    }
    let odd = [
        ("statement_timeout", "1"),
        ("lock_timeout", "1"),
        ("default_transaction_isolation", "serializable"),
        ("standard_conforming_strings", "off"),
        ("TimeZone", "Asia/Kathmandu"),
        ("bytea_output", "escape"),
        ("row_security", "off"),
    ];
    // Tables are made under the session's own limits: only an error, and so not here.
    let plain = Coordinator::connect(SERVER.url()).await.unwrap();
    plain.close().await.unwrap();
    let coordinator = with(&odd).await.unwrap();
    let guard = coordinator
        .lock("session")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}
