//! A proxy that sends what only reads to a replica, which may lag behind.

use std::sync::LazyLock;

use tenure::backend::{AnyBackend, Backend};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{MariaDb, Router};

use crate::support::{bid, client, renew, until, win};

/// A primary, its replica, and the splitter before them.
struct Pair {
    primary: MariaDb,
    replica: MariaDb,
    router: Router,
}

static PAIR: LazyLock<Pair> = LazyLock::new(Pair::start);

/// One at a time: they stop the replica.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

impl Pair {
    fn start() -> Self {
        let server = |id: &str| {
            let builder = MariaDb::builder()
                .set("server-id", id)
                .set("log-bin", "log");
            let builder = match MariaDb::is_mysql() {
                true => builder
                    .set("gtid-mode", "ON")
                    .set("enforce-gtid-consistency", "ON"),
                false => builder.set("binlog-format", "ROW"),
            };
            builder.start().unwrap()
        };
        let (primary, replica) = (server("1"), server("2"));
        let port = primary.port();
        let change = match MariaDb::is_mysql() {
            // What made its tables is done, on both.
            true => format!(
                "RESET BINARY LOGS AND GTIDS; SET GLOBAL gtid_purged = '{}'; \
                 CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
                 SOURCE_USER='root', SOURCE_AUTO_POSITION=1; START REPLICA",
                primary.sql("SELECT @@gtid_executed").unwrap().trim()
            ),
            false => format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, \
                 MASTER_USER='root'; START SLAVE"
            ),
        };
        replica.sql(&change).unwrap();
        let router = Router::splitting(primary.address(), replica.address()).unwrap();
        Self {
            primary,
            replica,
            router,
        }
    }

    /// A client of the primary, without anything between.
    async fn direct(&self) -> AnyBackend {
        client(&self.primary.url()).await.unwrap()
    }

    /// A client behind the splitter. The tables are there, on both.
    async fn split(&self) -> AnyBackend {
        self.direct().await;
        self.catch_up().await;
        let url = self.primary.url();
        let (behind, before) = (self.primary.port(), self.router.address().port());
        let url = url.replace(&behind.to_string(), &before.to_string());
        // The splitter reads the statements, and newer servers offer TLS by themselves.
        client(&format!("{url}?tls=off")).await.unwrap()
    }

    /// Until the replica has what the primary has.
    async fn catch_up(&self) {
        let [here, applied] = match MariaDb::is_mysql() {
            true => ["SELECT @@gtid_executed"; 2],
            false => ["SELECT @@gtid_binlog_pos", "SELECT @@gtid_slave_pos"],
        };
        let at = self.primary.sql(here).unwrap();
        until("the replica has caught up", async || {
            let there = self.replica.sql(applied).unwrap();
            (there == at).then_some(())
        })
        .await;
    }

    fn stop_applying(&self) {
        self.replica
            .sql(&format!("STOP {} SQL_THREAD", replica()))
            .unwrap();
    }

    fn go_on(&self) {
        self.replica
            .sql(&format!("START {} SQL_THREAD", replica()))
            .unwrap();
    }
}

/// What the server calls one.
fn replica() -> &'static str {
    match MariaDb::is_mysql() {
        true => "REPLICA",
        false => "SLAVE",
    }
}

#[tokio::test]
async fn a_replica_that_keeps_up_changes_nothing() {
    let _turn = TURN.lock().await;
    let (split, direct) = (PAIR.split().await, PAIR.direct().await);
    let (ours, theirs) = (bid("split", "a"), bid("split", "b"));
    let held = win(&split, &ours).await;
    assert!(renew(&split, &held).await.unwrap().is_won());
    PAIR.catch_up().await;
    assert!(!split.acquire(&theirs).await.unwrap().is_won());
    // Its answer was lost: it finds its grant.
    let again = split.acquire(&ours).await.unwrap();
    assert_eq!(again.token(), Some(held.token));
    assert!(!direct.acquire(&theirs).await.unwrap().is_won());
    assert!(split.release(&held).await.unwrap().is_won());
    win(&direct, &theirs).await;
}

/// The answer to a winning take is lost, the grant revoked, and the mutex
/// another's; but the replica still shows the grant.
#[tokio::test]
async fn a_grant_that_only_the_replica_still_has_is_nobodys() {
    let _turn = TURN.lock().await;
    let (split, direct) = (PAIR.split().await, PAIR.direct().await);
    let ours = bid("late", "a");
    let lost = win(&direct, &ours).await;
    PAIR.catch_up().await;
    PAIR.stop_applying();
    let gone = direct.revoke(&lost.name, None).await.unwrap();
    assert!(gone.is_won());
    let other = bid("late", "b");
    let theirs = win(&direct, &other).await;
    let again = split.acquire(&ours).await;
    let owns = again.as_ref().is_ok_and(tenure::backend::Answer::is_won);
    PAIR.go_on();
    assert!(!owns, "{theirs:?} owns, and {again:?}");
    assert!(renew(&direct, &theirs).await.unwrap().is_won());
    // Neither is a lost grant renewed by what the replica shows.
    assert!(
        !renew(&split, &lost)
            .await
            .is_ok_and(|answer| answer.is_won())
    );
}

/// The same for two in one renewal, of which one is lost: the UPDATE does not
/// say which, and the replica shows both.
#[tokio::test]
async fn a_lost_grant_is_not_renewed_by_what_the_replica_shows() {
    let _turn = TURN.lock().await;
    let (split, direct) = (PAIR.split().await, PAIR.direct().await);
    let (one, two) = (bid("both-1", "a"), bid("both-2", "a"));
    let held = [win(&direct, &one).await, win(&direct, &two).await];
    for renewed in direct.renew(&held).await {
        assert!(renewed.unwrap().is_won());
    }
    PAIR.catch_up().await;
    PAIR.stop_applying();
    direct.revoke(&held[0].name, None).await.unwrap();
    let theirs = win(&direct, &bid("both-1", "b")).await;
    let renewed = split.renew(&held).await;
    PAIR.go_on();
    let is_won = |answer: &tenure::Result<_>| {
        let answer: Option<&tenure::backend::Answer> = answer.as_ref().ok();
        answer.is_some_and(tenure::backend::Answer::is_won)
    };
    assert!(!is_won(&renewed[0]), "{theirs:?} owns, and {renewed:?}");
}
