//! Many at once, at every isolation.

use tenure::backend::Backend;

use crate::SERVER;
use crate::support::{bid, client, terms, win};

/// The URL of a database whose transactions are of this isolation.
fn database(name: &str, isolation: &str) -> String {
    SERVER.sql(&format!("CREATE DATABASE {name}")).unwrap();
    let set = format!("ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'");
    SERVER.sql(&set).unwrap();
    format!("{}/{name}", SERVER.url().strip_suffix("/postgres").unwrap())
}

#[tokio::test]
async fn thirty_two_contenders_on_a_new_name_twenty_times_and_no_error() {
    for (name, isolation) in [("rc", "read committed"), ("ser", "serializable")] {
        let url = database(name, isolation);
        let mut clients = Vec::new();
        for _ in 0..8 {
            clients.push(client(&url).await.unwrap());
        }
        for round in 0..20 {
            let mut bids = tokio::task::JoinSet::new();
            for number in 0..32 {
                let client = clients[number % 8].clone();
                let mut bid = bid(&format!("new-{round}"), &format!("c{number}"));
                bid.terms = terms(60_000, 60_000);
                bids.spawn(async move { client.acquire(&bid).await.unwrap() });
            }
            let answers = bids.join_all().await;
            let won: Vec<_> = answers.iter().filter(|answer| answer.is_won()).collect();
            assert_eq!(won.len(), 1, "{isolation}, round {round}");
            let winner = won[0].owner().owner_id().unwrap();
            let blind = answers
                .iter()
                .filter(|answer| !answer.owner().is_owner(winner));
            assert_eq!(blind.count(), 0, "a refusal names the winner ({isolation})");
        }
    }
}

#[tokio::test]
async fn a_contended_row_is_taken_and_released_without_an_error_when_serializable() {
    let url = database("contended", "serializable");
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..8 {
        let store = client(&url).await.unwrap();
        workers.spawn(async move {
            let mut tokens = Vec::new();
            while tokens.len() < 20 {
                let bid = bid("m", &format!("w{number}"));
                let answer = store.acquire(&bid).await.unwrap();
                if let Some(token) = answer.token() {
                    tokens.push(token);
                    assert!(store.release(&bid.held(token)).await.unwrap().is_won());
                }
                tokio::task::yield_now().await;
            }
            tokens
        });
    }
    let mut tokens: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 160, "every grant has a token of its own");
}

#[tokio::test]
async fn a_table_without_a_nonce_gets_an_error_with_the_alter() {
    let url = format!("{}?table=from_before", SERVER.url());
    drop(client(&url).await.unwrap());
    SERVER
        .sql("ALTER TABLE from_before DROP COLUMN nonce")
        .unwrap();
    let error = client(&url).await.unwrap_err();
    assert_eq!(error.kind(), tenure::ErrorKind::Conflict, "{error:?}");
    let text = error.to_string();
    SERVER
        .sql(&text[text.find("ALTER TABLE").expect("the ALTER")..])
        .unwrap();
    win(&client(&url).await.unwrap(), &bid("m", "a")).await;
}
