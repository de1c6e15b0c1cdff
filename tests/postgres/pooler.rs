//! Behind a transaction pooler: each transaction may meet another session.

use std::net::SocketAddr;

use tenure::backend::{Backend, Interest};
use tenure_testkit::Whole as _;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::SERVER;
use crate::frames::{startup, typed, until_ready};
use crate::support::{bid, client, renew, win};

/// A pooler that gives every transaction of a client to the other one of two
/// sessions: the most that any pooler does to its clients.
async fn pooler(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, server));
        }
    });
    address
}

async fn serve(mut client: TcpStream, server: SocketAddr) -> Option<()> {
    let startup = startup(&mut client).await?;
    let mut sessions = Vec::new();
    for first in [true, false] {
        let mut session = TcpStream::connect(server).await.ok()?;
        session.write_all(&startup).await.ok()?;
        let greeting = until_ready(&mut session).await?;
        if first {
            client.write_all(&greeting).await.ok()?;
        }
        sessions.push(session);
    }
    loop {
        // One transaction, message by message, then the other session.
        sessions.swap(0, 1);
        loop {
            let message = typed(&mut client).await?;
            sessions[0].write_all(&message).await.ok()?;
            // A query, or the end of a series of other messages.
            if matches!(message[0], b'Q' | b'S') {
                let reply = until_ready(&mut sessions[0]).await?;
                client.write_all(&reply).await.ok()?;
                if reply.last() == Some(&b'I') {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn without_push_a_transaction_pooler_is_fine() {
    let pooler = pooler(SERVER.address()).await;
    let url = |options: &str| format!("postgres://postgres@{pooler}/postgres{options}");
    // Without being told of it, all but the push works too.
    let unaware = client(&url("")).await.unwrap();
    for _ in 0..5 {
        let held = win(&unaware, &bid("unaware", "a")).await;
        assert!(
            !unaware
                .acquire(&bid("unaware", "b"))
                .await
                .unwrap()
                .is_won()
        );
        assert!(renew(&unaware, &held).await.unwrap().is_won());
        assert!(unaware.release(&held).await.unwrap().is_won());
    }
    let store = client(&url("?notify=off")).await.unwrap();
    for round in 0..5 {
        let mine = bid("pooled", "a");
        let held = win(&store, &mine).await;
        assert!(!store.acquire(&bid("pooled", "b")).await.unwrap().is_won());
        assert!(renew(&store, &held).await.unwrap().is_won());
        let at = Default::default();
        let claim = tenure::backend::Claim::new("plan", at, round, at);
        let claimed = store.claim_tick(&held, &claim).await.unwrap();
        assert_eq!(claimed, tenure::backend::ClaimAnswer::Claimed);
        let end = tenure::backend::TickEnd::new(round, true);
        assert!(store.finish_tick(&held, &end).await.unwrap());
        let mut hints = store.changes(&Interest::in_turn(&bid("pooled", "b")));
        assert!(store.release(&held).await.unwrap().is_won());
        hints.next().await.expect("open");
        assert_eq!(
            store.check().await[0].severity,
            tenure::backend::Severity::Good
        );
    }
    // And so this pooler does what it is here for.
    let options: sqlx::postgres::PgConnectOptions = url("").parse().unwrap();
    let mut plain = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let mut sessions = std::collections::BTreeSet::new();
    for _ in 0..4 {
        use sqlx::{Executor as _, Row as _};
        let row = plain.fetch_one(sqlx::raw_sql("SELECT pg_backend_pid()"));
        sessions.insert(row.await.unwrap().get::<i32, _>(0));
    }
    assert_eq!(sessions.len(), 2, "every statement meets the other session");
}
