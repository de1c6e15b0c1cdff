//! A pooler that gives every statement another session of the server.

use std::net::SocketAddr;
use std::time::Duration;

use tenure::backend::{Answer, AnyBackend, Backend, Claim, ClaimAnswer};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{MariaDb, Router};

use crate::support::{bid, client, name, renew, until, win};
use crate::{SERVER, dialect};

/// Enough that every statement meets both sessions.
const TIMES: usize = 6;

async fn behind(server: &MariaDb, router: SocketAddr, rest: &str) -> AnyBackend {
    let (server, router) = (server.port().to_string(), router.port().to_string());
    // What is between reads the statements, and newer servers offer TLS by themselves.
    let and = if rest.is_empty() { "?" } else { "&" };
    let url = format!("mysql://root@127.0.0.1:{server}/tenure{rest}{and}tls=off");
    client(&url.replace(&server, &router)).await.unwrap()
}

#[tokio::test]
async fn no_session_is_needed() {
    let router = Router::swapping(SERVER.address()).unwrap();
    let direct = client(&SERVER.url()).await.unwrap();
    let swapped = behind(&SERVER, router.address(), "").await;
    for number in 0..TIMES {
        let mutex = format!("swapped-{number}");
        let ours = bid(&mutex, "a");
        let held = win(&swapped, &ours).await;
        let owner = direct.owner(&held.name).await.unwrap();
        assert_eq!(owner.owner().owner_id(), Some(&held.contender));
        assert!(!direct.acquire(&bid(&mutex, "b")).await.unwrap().is_won());
        assert!(renew(&swapped, &held).await.unwrap().is_won());
        let again = swapped.acquire(&ours).await.unwrap();
        assert_eq!(again.token(), Some(held.token), "found again");
        let at = Default::default();
        let claim = Claim::new("plan", at, 1, at);
        let claimed = swapped.claim_tick(&held, &claim).await.unwrap();
        assert_eq!(claimed, ClaimAnswer::Claimed);
        assert!(swapped.release(&held).await.unwrap().is_won());
        let theirs = win(&direct, &bid(&mutex, "b")).await;
        assert!(theirs.token > held.token);
        assert!(!renew(&swapped, &held).await.unwrap().is_won());
    }
}

/// Where a table has a trigger, the server does not say the number of a grant
/// at once, and the session that is asked for it has another one.
#[tokio::test]
async fn the_number_of_a_grant_is_never_that_of_another_session() {
    let table = "swapped_watched";
    let rest = format!("?table={table}");
    let direct = client(&format!("{}{rest}", SERVER.url())).await.unwrap();
    dialect::watch_rows(&SERVER, table);
    let router = Router::swapping(SERVER.address()).unwrap();
    let swapped = behind(&SERVER, router.address(), &rest).await;
    for number in 0..2 * TIMES {
        // Rows whose versions differ.
        let mutex = name(&format!("m{number}"));
        win(&direct, &bid(mutex.as_str(), "first")).await;
        let row = format!("{table} SET version = version + {number}, transition_at = 0");
        let sql = format!("UPDATE {row} WHERE mutex = '{mutex}'");
        SERVER.sql(&sql).unwrap();
        if number % 3 == 0 {
            // The takes go to the other session from now on.
            swapped.owner(&mutex).await.unwrap();
        }
        let told = swapped.acquire(&bid(mutex.as_str(), "a")).await;
        let sql = format!("SELECT version FROM {table} WHERE mutex = '{mutex}'");
        let version: u64 = SERVER.sql(&sql).unwrap().parse().unwrap();
        let token = told.as_ref().ok().and_then(Answer::token);
        if let Some(token) = token {
            assert_eq!(token.store(), version, "{mutex}: {told:?}");
        }
    }
}

/// The same for what is left of a grant that is found again: it is not what
/// another session's statement has left.
#[tokio::test]
async fn what_is_left_of_a_grant_is_never_another_sessions_number() {
    let table = "swapped_rests";
    let rest = format!("?table={table}");
    let direct = client(&format!("{}{rest}", SERVER.url())).await.unwrap();
    dialect::watch_rows(&SERVER, table);
    let router = Router::swapping(SERVER.address()).unwrap();
    let swapped = behind(&SERVER, router.address(), &rest).await;
    let left = Duration::from_secs(5);
    let mut found = 0;
    for number in 0..2 * TIMES {
        // The number of a grant, which is large, in one session and the other.
        let before = bid(&format!("before-{number}"), "a");
        let _ = swapped.acquire(&before).await;
        let ours = bid(&format!("m{number}"), "a");
        win(&direct, &ours).await;
        let end = format!("transition_at - {}", 16_000 - left.as_millis());
        let row = format!("{table} SET transition_at = {end}, ttl_at = {end}");
        let sql = format!("UPDATE {row} WHERE mutex = '{}'", ours.name);
        SERVER.sql(&sql).unwrap();
        if number % 3 == 0 {
            swapped.owner(&ours.name).await.unwrap();
        }
        let answer = swapped.acquire(&ours).await.unwrap();
        if answer.is_won() {
            let rest = answer.owner().remaining(answer.now());
            assert!(rest.is_some_and(|rest| rest <= left), "{answer:?}");
            found += 1;
        }
    }
    assert!(found > TIMES, "found again {found} times");
}

/// The server's sessions do not commit by themselves unless they are told to,
/// and the pooler tells one of them: what is not committed is not owned.
#[tokio::test]
async fn what_a_session_has_not_committed_makes_nobody_an_owner() {
    let server = MariaDb::builder().set("autocommit", "0").start().unwrap();
    let direct = client(&server.url()).await.unwrap();
    let mutex = |number: usize| format!("m{number}");
    for number in 0..TIMES {
        let first = win(&direct, &bid(&mutex(number), "first")).await;
        direct.release(&first).await.unwrap();
    }
    let router = Router::swapping(server.address()).unwrap();
    let swapped = behind(&server, router.address(), "").await;
    for number in 0..TIMES {
        let ours = swapped.acquire(&bid(&mutex(number), "a")).await;
        // The pooler, or the server, ends the sessions.
        let kill = "SELECT CONCAT('KILL ', ID, ';') FROM information_schema.PROCESSLIST \
                    WHERE DB = 'tenure' AND ID <> CONNECTION_ID()";
        let ids = server.sql(kill).unwrap();
        server.sql(&ids).unwrap();
        let theirs = until("the sessions are gone", async || {
            direct.acquire(&bid(&mutex(number), "b")).await.ok()
        });
        let theirs = theirs.await;
        let both = [ours.as_ref().is_ok_and(Answer::is_won), theirs.is_won()];
        assert_ne!(both, [true, true], "{ours:?} and {theirs:?}");
        assert_ne!(both, [false, false], "{ours:?} and {theirs:?}");
    }
}
