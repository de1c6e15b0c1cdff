//! What the application's own connect options may set for a session.

use sqlx::postgres::PgConnectOptions;
use tenure::stores::postgres::PostgresOptions;
use tenure::{Coordinator, ErrorKind};

use tenure::backend::Backend as _;
use tenure_testkit::servers::Postgres;

use crate::SERVER;
use crate::support::{bid, client, terms, win};

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

/// The messages that take or free by an update alone, as the server had them.
async fn quick_messages(builder: tenure_testkit::servers::PostgresBuilder) -> Vec<String> {
    let server = builder.set("log_statement", "all").start().unwrap();
    let store = client(&format!("{}?connections=1", server.url()))
        .await
        .unwrap();
    for _ in 0..3 {
        let held = win(&store, &bid("m", "a")).await;
        assert!(store.release(&held).await.unwrap().is_won());
    }
    let log = server.log();
    let is_quick = |line: &&str| line.contains("take_free ") || line.contains("release_held ");
    log.lines().filter(is_quick).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_quick_statement_relies_on_defaults_only_where_they_are_as_it_needs() {
    for (setting, value, relies) in [
        ("default_transaction_isolation", "read committed", true),
        ("default_transaction_isolation", "repeatable read", false),
        ("default_transaction_isolation", "serializable", false),
        ("statement_timeout", "1min", true),
        ("statement_timeout", "50ms", false),
    ] {
        let messages = quick_messages(Postgres::builder().set(setting, value)).await;
        assert!(messages.len() >= 5, "{messages:?}");
        for message in messages {
            assert!(
                message.contains("SET LOCAL lock_timeout = 250; "),
                "{message}"
            );
            for told in ["SET LOCAL statement_timeout", "READ COMMITTED"] {
                assert_ne!(
                    message.contains(told),
                    relies,
                    "{setting} = {value}: {message}"
                );
            }
        }
    }
}

/// What counts is the row as it is, not as it was asked for.
#[tokio::test]
async fn a_trigger_that_shortens_leases_is_believed() {
    let store = client(&format!("{}?table=shortened", SERVER.url()))
        .await
        .unwrap();
    let sql = "CREATE FUNCTION shortens() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN \
         NEW.transition_at := least(NEW.transition_at, NEW.acquired_at + 5000); RETURN NEW; \
         END$$; CREATE TRIGGER shortens BEFORE INSERT OR UPDATE ON shortened FOR EACH ROW \
         EXECUTE FUNCTION shortens()";
    SERVER.sql(sql).unwrap();
    let mut mine = bid("m", "a");
    mine.terms = terms(10_000, 50_000);
    // By the whole statement, and by the quick one.
    for _ in 0..2 {
        let taken = store.acquire(&mine).await.unwrap();
        let held = mine.held(taken.token().unwrap());
        let renewed = store.renew(std::slice::from_ref(&held)).await.remove(0);
        for answer in [taken, renewed.unwrap()] {
            assert!(answer.is_won(), "{answer:?}");
            let left = answer.owner().remaining(answer.now()).unwrap();
            assert!(left.as_millis() <= 5_000, "{left:?}");
        }
        assert!(store.release(&held).await.unwrap().is_won());
    }
}
