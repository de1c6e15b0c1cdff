//! Behind a transaction pooler: each transaction may meet another session.

use std::net::SocketAddr;

use tenure::backend::{Backend, Interest};
use tenure_testkit::Whole as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::SERVER;
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
    let startup = loop {
        let message = untyped(&mut client).await?;
        // Asked for TLS: no.
        if message[4..8] != 80_877_103_u32.to_be_bytes() {
            break message;
        }
        client.write_all(b"N").await.ok()?;
    };
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

async fn until_ready(session: &mut TcpStream) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let message = typed(session).await?;
        all.extend_from_slice(&message);
        if message[0] == b'Z' {
            return Some(all);
        }
    }
}

async fn typed(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let kind = stream.read_u8().await.ok()?;
    let mut message = vec![kind];
    message.extend(untyped(stream).await?);
    Some(message)
}

async fn untyped(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u32().await.ok()?;
    let mut message = length.to_be_bytes().to_vec();
    message.resize(length as usize, 0);
    stream.read_exact(&mut message[4..]).await.ok()?;
    Some(message)
}

#[tokio::test]
async fn without_push_a_transaction_pooler_is_fine() {
    let pooler = pooler(SERVER.address()).await;
    let url = |options: &str| format!("postgres://postgres@{pooler}/postgres{options}");
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
