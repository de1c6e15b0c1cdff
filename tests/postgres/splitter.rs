//! A proxy that sends what only reads to a standby, which may lag behind.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use sqlx::{ConnectOptions as _, Executor as _, Row as _};
use tenure::backend::{Answer, AnyBackend, Backend, Bid, Hint, Interest};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{Pgpool, Postgres};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::frames::{startup, typed, until_ready};
use crate::support::{bid, client, renew, until, win};

/// A primary and its standby.
struct Pair {
    primary: Postgres,
    standby: Postgres,
}

static PAIR: LazyLock<Pair> = LazyLock::new(|| {
    let primary = Postgres::start().unwrap();
    let standby = Postgres::builder().standby_of(&primary).start().unwrap();
    Pair { primary, standby }
});

/// One at a time: they stop the standby.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

impl Pair {
    /// A client of the primary, without anything between.
    async fn direct(&self) -> AnyBackend {
        client(&self.primary.url()).await.unwrap()
    }

    /// A client behind a splitter. The tables are there, on both.
    async fn split(&self, options: &str) -> (AnyBackend, Splitter) {
        self.direct().await;
        self.catch_up().await;
        let splitter = Splitter::start(self.primary.address(), self.standby.address()).await;
        let url = format!("postgres://postgres@{}/postgres{options}", splitter.address);
        (client(&url).await.unwrap(), splitter)
    }

    /// Until the standby shows what the primary has.
    async fn catch_up(&self) {
        let at = self.primary.sql("SELECT pg_current_wal_lsn()").unwrap();
        until("the standby has caught up", async || {
            let sql = format!("SELECT pg_last_wal_replay_lsn() >= '{at}'");
            (self.standby.sql(&sql).unwrap() == "t").then_some(())
        })
        .await;
    }

    async fn stop_applying(&self) {
        self.standby.sql("SELECT pg_wal_replay_pause()").unwrap();
        until("the standby has stopped to apply", async || {
            let state = self.standby.sql("SELECT pg_get_wal_replay_pause_state()");
            (state.unwrap() == "paused").then_some(())
        })
        .await;
    }

    fn go_on(&self) {
        self.standby.sql("SELECT pg_wal_replay_resume()").unwrap();
    }
}

/// Sends a message of which every statement only reads to the standby, and all
/// others to the primary. (Pgpool-II is less bold: what has more than one
/// statement goes to the primary.)
struct Splitter {
    address: SocketAddr,
    /// How many messages went to the standby.
    reads: Arc<AtomicUsize>,
}

impl Splitter {
    async fn start(primary: SocketAddr, standby: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, [primary, standby], Arc::clone(&counted)));
            }
        });
        Self { address, reads }
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut client: TcpStream,
    servers: [SocketAddr; 2],
    reads: Arc<AtomicUsize>,
) -> Option<()> {
    let startup = startup(&mut client).await?;
    let mut sessions = Vec::new();
    for server in servers {
        let mut session = TcpStream::connect(server).await.ok()?;
        session.write_all(&startup).await.ok()?;
        let greeting = until_ready(&mut session).await?;
        if sessions.is_empty() {
            client.write_all(&greeting).await.ok()?;
        }
        sessions.push(session);
    }
    let mut prepared = Prepared::default();
    loop {
        let message = typed(&mut client).await?;
        let only_reads = message[0] == b'Q' && {
            let text = String::from_utf8_lossy(&message[5..message.len() - 1]);
            prepared.only_reads(&text)
        };
        reads.fetch_add(usize::from(only_reads), Ordering::SeqCst);
        let session = &mut sessions[usize::from(only_reads)];
        session.write_all(&message).await.ok()?;
        // A query, or the end of a series of other messages.
        if matches!(message[0], b'Q' | b'S') {
            let reply = until_ready(session).await?;
            client.write_all(&reply).await.ok()?;
        }
    }
}

/// The statements that a client has prepared by text: whether each only reads.
#[derive(Default)]
struct Prepared(HashMap<String, bool>);

impl Prepared {
    fn only_reads(&mut self, message: &str) -> bool {
        let statements = message.split(';').map(str::trim);
        let statements = statements.filter(|one| !one.is_empty() && !one.starts_with("SET"));
        let judged: Vec<bool> = statements.map(|one| self.judge(one)).collect();
        !judged.is_empty() && judged.into_iter().all(|only_reads| only_reads)
    }

    fn judge(&mut self, statement: &str) -> bool {
        // The names are quoted.
        let name = || statement.split('"').nth(1).unwrap_or_default().to_owned();
        if let Some((_, text)) = statement
            .split_once(" AS ")
            .filter(|_| statement.starts_with("PREPARE"))
        {
            let only_reads = self.judge(text);
            self.0.insert(name(), only_reads);
            return only_reads;
        }
        if statement.starts_with("EXECUTE") {
            return self.0.get(&name()).copied().unwrap_or(false);
        }
        let writes = ["INSERT", "UPDATE", "DELETE", "pg_notify"];
        let begins = ["SELECT", "WITH"];
        begins.iter().any(|word| statement.starts_with(word))
            && !writes.iter().any(|word| statement.contains(word))
    }
}

/// With what is prepared once, and with what is sent whole each time.
const OPTIONS: [&str; 2] = ["", "?notify=off"];

#[tokio::test]
async fn a_standby_that_keeps_up_changes_nothing() {
    let _turn = TURN.lock().await;
    let direct = PAIR.direct().await;
    for options in OPTIONS {
        let (split, splitter) = PAIR.split(options).await;
        let (ours, theirs) = (bid("split", "a"), bid("split", "b"));
        let held = win(&split, &ours).await;
        assert!(renew(&split, &held).await.unwrap().is_won());
        PAIR.catch_up().await;
        assert!(!split.acquire(&theirs).await.unwrap().is_won());
        let before = splitter.reads();
        let seen = split.owner(&ours.name).await.unwrap();
        assert!(seen.owner().is_owner(&ours.contender), "{seen:?}");
        assert!(splitter.reads() > before, "the standby has shown it");
        // Its answer was lost: it finds its grant.
        let again = split.acquire(&ours).await.unwrap();
        assert_eq!(again.token(), Some(held.token));
        assert!(!direct.acquire(&theirs).await.unwrap().is_won());
        assert!(split.release(&held).await.unwrap().is_won());
        let last = win(&direct, &theirs).await;
        assert!(direct.release(&last).await.unwrap().is_won());
    }
}

/// What a rival who has the row in hand does to it, in a transaction that is
/// not committed yet. The row was seen free, or not at all.
const SEIZE: [&str; 2] = [
    "UPDATE simba_mutex SET owner_id = 'b', nonce = 'b', version = version + 1, \
     acquired_at = NOW, ttl_at = NOW + 60000, transition_at = NOW + 60000 WHERE mutex = 'MUTEX'",
    "INSERT INTO simba_mutex (mutex, owner_id, acquired_at, ttl_at, transition_at, version, nonce) \
     VALUES ('MUTEX', 'b', NOW, NOW + 60000, NOW + 60000, NOW * 1000, 'b')",
];

/// The answer of a bid behind the splitter that comes while a rival takes the
/// mutex: its take waits for the rival, loses, and what it saw before says that
/// nobody owns. So it looks, at the standby.
async fn outrun(split: &AnyBackend, ours: &Bid, seize: &str) -> tenure::Result<Answer> {
    let options: sqlx::postgres::PgConnectOptions = PAIR.primary.url().parse().unwrap();
    let mut rival = options.connect().await.unwrap();
    let mut watcher = options.connect().await.unwrap();
    let now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let seize = seize
        .replace("NOW", now)
        .replace("MUTEX", ours.name.as_str());
    let begun = format!("BEGIN; {seize}");
    rival
        .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(begun)))
        .await
        .unwrap();
    let (split, ours) = (split.clone(), ours.clone());
    let asked = tokio::spawn(async move { split.acquire(&ours).await });
    until("the take waits, or has given up", async || {
        let waits = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)";
        let row = watcher.fetch_one(sqlx::raw_sql(waits)).await.unwrap();
        (asked.is_finished() || row.get(0)).then_some(())
    })
    .await;
    rival.execute(sqlx::raw_sql("COMMIT")).await.unwrap();
    asked.await.unwrap()
}

/// The answer to a winning take is lost, the grant revoked, and the mutex
/// another's; but the standby still shows the grant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_only_the_standby_still_has_is_nobodys() {
    let _turn = TURN.lock().await;
    let direct = PAIR.direct().await;
    for (number, (options, seize)) in OPTIONS
        .iter()
        .flat_map(|options| SEIZE.iter().map(move |seize| (options, seize)))
        .enumerate()
    {
        let (split, splitter) = PAIR.split(options).await;
        // Again, where the machine was so slow that the take gave up waiting.
        let mut round = 0;
        loop {
            round += 1;
            assert!(round < 20, "the bid never looks at the standby");
            let ours = bid(&format!("late-{number}-{round}"), "a");
            let lost = win(&direct, &ours).await;
            PAIR.catch_up().await;
            PAIR.stop_applying().await;
            assert!(direct.revoke(&lost.name, None).await.unwrap().is_won());
            if seize.starts_with("INSERT") {
                let gone = format!("DELETE FROM simba_mutex WHERE mutex = '{}'", ours.name);
                PAIR.primary.sql(&gone).unwrap();
            }
            let before = splitter.reads();
            let answer = outrun(&split, &ours, seize).await;
            // A take that waited for a row sees the winner by its second statement; one that
            // waited for a row to be made has to look.
            let looked = splitter.reads() > before || !seize.starts_with("INSERT");
            // Neither is a lost grant renewed by what the standby shows.
            let renewed = renew(&split, &lost).await;
            PAIR.go_on();
            let owns = answer.as_ref().is_ok_and(Answer::is_won);
            assert!(!owns, "another owns, and {answer:?}");
            assert!(!renewed.is_ok_and(|answer| answer.is_won()));
            if let (true, Ok(answer)) = (looked, &answer) {
                let owner = answer.owner().owner_id().map(ToString::to_string);
                assert_eq!(owner.as_deref(), Some("b"), "{answer:?}");
                break;
            }
        }
    }
}

/// A real one, which sends a message of several statements to the primary, as
/// all of ours are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_pgpool_everything_goes_on_though_the_standby_lags() {
    let _turn = TURN.lock().await;
    let direct = PAIR.direct().await;
    PAIR.catch_up().await;
    let pgpool = tokio::task::block_in_place(|| Pgpool::start(&PAIR.primary, &PAIR.standby));
    let pgpool = pgpool.unwrap();
    PAIR.stop_applying().await;
    for options in OPTIONS {
        let split = client(&format!("{}{options}", pgpool.url())).await.unwrap();
        let (ours, theirs) = (bid("pgpool", "a"), bid("pgpool", "b"));
        let lost = win(&split, &ours).await;
        assert!(renew(&split, &lost).await.unwrap().is_won());
        assert_eq!(
            split.acquire(&ours).await.unwrap().token(),
            Some(lost.token)
        );
        let seen = split.owner(&ours.name).await.unwrap();
        assert!(seen.owner().is_owner(&ours.contender), "{seen:?}");
        assert!(direct.revoke(&lost.name, None).await.unwrap().is_won());
        let held = win(&direct, &theirs).await;
        let again = split.acquire(&ours).await.unwrap();
        assert!(!again.is_won(), "{held:?} owns, and {again:?}");
        assert!(!renew(&split, &lost).await.unwrap().is_won());
        let mut hints = split.changes(&Interest::in_turn(&ours));
        if options.is_empty() {
            assert_eq!(hints.next().await, Some(Hint::Resumed), "it listens");
        }
        let released_at = Instant::now();
        assert!(direct.release(&held).await.unwrap().is_won());
        let told = tokio::time::timeout(Duration::from_secs(30), hints.next()).await;
        println!("{options:?}: {told:?} after {:?}", released_at.elapsed());
        assert!(told.is_ok_and(|hint| hint.is_some()), "{options}");
        let last = win(&split, &ours).await;
        assert!(split.release(&last).await.unwrap().is_won());
    }
    // It does split: the standby has not heard of the row.
    let options: sqlx::postgres::PgConnectOptions = pgpool.url().parse().unwrap();
    let mut plain = options.connect().await.unwrap();
    let count = "SELECT count(*) FROM simba_mutex WHERE mutex = 'pgpool'";
    let row = plain.fetch_one(sqlx::raw_sql(count)).await.unwrap();
    PAIR.go_on();
    assert_eq!(row.get::<i64, _>(0), 0, "{}", pgpool.log());
}
