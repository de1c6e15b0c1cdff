//! What holds of the highest tokens in every SQL database.

/// The tests of `$seen`, over a `$pool` of a real `$server`; `$waits` counts its transactions that
/// wait for a row.
#[allow(unused_macros)] // For the tests with a SQL server.
macro_rules! sql_tests {
    ($server:ident, $pool:ident, $options:ident, $seen:ident, $waits:literal) => {
        use std::sync::Arc;
        use std::time::Duration;

        use axum::Router;
        use axum::extract::State;
        use axum::routing::put;
        use shared::{newest, patient, service, token, write};
        use tenure_axum::{Admitted, HighestSeen, Refusal, fence_in};
        use tenure_testkit::servers::wait;

        async fn place() -> ($server, $pool) {
            let server = tokio::task::spawn_blocking(<$server>::start).await;
            let server = server.unwrap().unwrap();
            let options = $options::new()
                .max_connections(10)
                .acquire_timeout(Duration::from_secs(60));
            let pool = options.connect(&server.url()).await.unwrap();
            (server, pool)
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_table_keeps_what_it_promises() {
            let (_server, pool) = place().await;
            let seen = Arc::new($seen::new(pool));
            let mut makers = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let seen = seen.clone();
                makers.spawn(async move { seen.prepare().await });
            }
            while let Some(made) = makers.join_next().await {
                made.unwrap().unwrap();
            }
            shared::every_digit_counts(&*seen).await;
            shared::the_highest_never_falls(seen.clone()).await;

            let app = service(patient($seen::clone(&seen)));
            assert_eq!(write(&app, "/accounts/7", 1 << 60).await.0, 200);
            let (status, body) = write(&app, "/accounts/7", (1 << 60) - 1).await;
            assert_eq!(status, 409);
            assert!(body.contains(r#""newest":"1152921504606846976""#), "{body}");
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn the_writes_of_two_owners_do_not_mix() {
            let (server, pool) = place().await;
            $seen::new(pool.clone()).prepare().await.unwrap();
            server
                .sql("CREATE TABLE account (balance BIGINT); INSERT INTO account VALUES (100)")
                .unwrap();
            // The new owner is in the middle of its writes when the old one comes.
            let mut newer = pool.begin().await.unwrap();
            fence_in(&mut newer, "account", token(2)).await.unwrap();
            let older = tokio::spawn({
                let pool = pool.clone();
                async move {
                    let mut older = pool.begin().await.unwrap();
                    let answer = newest(fence_in(&mut older, "account", token(1)).await);
                    older.rollback().await.unwrap();
                    answer
                }
            });
            let is_waiting = || server.sql($waits).unwrap() == "1";
            wait::until_true("the old owner waits", is_waiting).unwrap();
            sqlx::query("UPDATE account SET balance = 80")
                .execute(&mut *newer)
                .await
                .unwrap();
            newer.commit().await.unwrap();
            assert_eq!(older.await.unwrap(), Some(2), "it waited, and was refused");
            assert_eq!(server.sql("SELECT balance FROM account").unwrap(), "80");
        }

        /// As the page shows it: the gate, and the last word in the handler's transaction.
        async fn deposit(admitted: Admitted, State(pool): State<$pool>) -> Result<(), Refusal> {
            let mut transaction = pool.begin().await?;
            fence_in(&mut transaction, admitted.resource(), admitted.token()).await?;
            let update = sqlx::query("UPDATE account SET balance = balance + 1");
            update.execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(())
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_handler_writes_behind_the_gate_and_an_old_owner_does_not() {
            let (server, pool) = place().await;
            let seen = $seen::new(pool.clone());
            seen.prepare().await.unwrap();
            server
                .sql("CREATE TABLE account (balance BIGINT); INSERT INTO account VALUES (0)")
                .unwrap();
            let gate = patient(seen);
            let app = Router::new()
                .route("/accounts/{id}", put(deposit).layer(gate))
                .with_state(pool);
            for (token, status) in [(1, 200), (3, 200), (2, 409), (3, 200)] {
                assert_eq!(write(&app, "/accounts/7", token).await.0, status);
            }
            assert_eq!(server.sql("SELECT balance FROM account").unwrap(), "3");
            server.sql("DROP TABLE account").unwrap();
            assert_eq!(write(&app, "/accounts/7", 4).await.0, 503);
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_token_counts_only_if_its_writes_do() {
            let (_server, pool) = place().await;
            let seen = $seen::new(pool.clone());
            seen.prepare().await.unwrap();
            let mut undone = pool.begin().await.unwrap();
            fence_in(&mut undone, "account", token(9)).await.unwrap();
            undone.rollback().await.unwrap();
            assert_eq!(newest(seen.admit("account", token(8)).await), None);
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn nobody_is_admitted_while_the_database_is_silent() {
            let (server, pool) = place().await;
            let seen = $seen::new(pool);
            let gate = patient(seen.clone());
            // Without a table.
            assert_eq!(write(&service(gate.clone()), "/accounts/7", 1).await.0, 503);
            seen.prepare().await.unwrap();
            assert_eq!(write(&service(gate.clone()), "/accounts/7", 1).await.0, 200);
            let app = service(gate.with_limit(Duration::from_millis(300)));
            server.pause().unwrap();
            assert_eq!(write(&app, "/accounts/7", 2).await.0, 503);
            server.resume().unwrap();
            let app = service(patient(seen));
            assert_eq!(write(&app, "/accounts/7", 3).await.0, 200);
        }
    };
}
