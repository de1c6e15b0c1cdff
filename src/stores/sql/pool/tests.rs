use std::pin::{Pin, pin};
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Waker};

use tokio::sync::oneshot;

use super::*;

/// A database that needs much room to connect, and none to answer.
struct Roomy;

const ROOM: usize = 50_000;

struct Ask;

impl Question for Ask {
    type Reply = ();

    const EFFECT: Effect = Effect::Reads;
}

impl Answers<Ask> for Roomy {
    async fn answer(&self, (): &mut (), _: &Ask) -> sqlx::Result<()> {
        Ok(())
    }
}

impl Driver for Roomy {
    type Connection = ();

    async fn connect(&self) -> Result<(), NotConnected> {
        let room = [0_u8; ROOM];
        tokio::task::yield_now().await;
        drop(std::hint::black_box(room).to_vec());
        Ok(())
    }

    async fn ping(&self, (): &mut ()) -> sqlx::Result<()> {
        Ok(())
    }

    async fn part(&self, (): ()) {}

    fn fault(&self, _: &dyn sqlx::error::DatabaseError) -> Fault {
        Fault::Ended
    }

    fn place(&self) -> &str {
        "nowhere"
    }
}

fn limits() -> Limits {
    let second = Duration::from_secs(1);
    Limits {
        call: second,
        connect: second,
        ping: second,
    }
}

/// A task is moved when it is made, and when it ends: what it needs in rare cases
/// only must not make it large.
#[tokio::test]
async fn what_it_takes_to_connect_is_not_in_every_task() {
    let pool = Pool::new(Roomy, 1, limits(), Clock::boot());
    assert!(size_of_val(&pool.0.driver.connect()) >= ROOM);
    let permit = Arc::clone(&pool.0.permits).acquire_owned();
    let (reply, answer) = oneshot::channel();
    let serving = Arc::clone(&pool.0).serve(permit, Ask, reply);
    let size = size_of_val(&serving);
    assert!(size <= 2_000, "{size} bytes");
    serving.await;
    answer.await.unwrap().unwrap();
}

/// A question that is itself most of what a call needs.
struct AskMuch([u8; MUCH]);

const MUCH: usize = 4_000;

impl Question for AskMuch {
    type Reply = u8;

    const EFFECT: Effect = Effect::Reads;
}

impl Answers<AskMuch> for Roomy {
    async fn answer(&self, (): &mut (), AskMuch(much): &AskMuch) -> sqlx::Result<u8> {
        Ok(much[0])
    }
}

/// An `async fn` would have room for it twice: as an argument, and as what it uses.
#[tokio::test]
async fn a_call_has_room_for_its_question_once() {
    let pool = Pool::new(Roomy, 1, limits(), Clock::boot());
    let permit = || Arc::clone(&pool.0.permits).try_acquire_owned();
    let (reply, answer) = oneshot::channel();
    let waits = ready(Ok(permit().unwrap()));
    let serving = Arc::clone(&pool.0).serve(waits, AskMuch([7; MUCH]), reply);
    let size = size_of_val(&serving);
    assert!(size < MUCH + 2_000, "{size} bytes in a task");
    serving.await;
    assert_eq!(answer.await.unwrap().unwrap(), 7);

    let connected = pool.0.fresh().expect("it has just answered");
    let question = AskMuch([8; MUCH]);
    let serving = Arc::clone(&pool.0).serve_here(permit().unwrap(), connected, question);
    let size = size_of_val(&serving);
    assert!(size < MUCH + 1_000, "{size} bytes in the caller's box");
    assert_eq!(serving.await.unwrap(), 8);
}

/// A server that answers a call when it is looked at for the second time, or never.
#[derive(Default)]
struct Server {
    connections: AtomicUsize,
    answered: AtomicUsize,
}

#[derive(Clone, Copy)]
enum Say {
    Soon,
    Never,
}

impl Question for Say {
    type Reply = ();

    const EFFECT: Effect = Effect::Writes;
}

impl Answers<Say> for Server {
    async fn answer(&self, (): &mut (), say: &Say) -> sqlx::Result<()> {
        match say {
            Say::Soon => tokio::task::yield_now().await,
            Say::Never => std::future::pending().await,
        }
        self.answered.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Driver for Server {
    type Connection = ();

    async fn connect(&self) -> Result<(), NotConnected> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn ping(&self, (): &mut ()) -> sqlx::Result<()> {
        Ok(())
    }

    async fn part(&self, (): ()) {}

    fn fault(&self, _: &dyn sqlx::error::DatabaseError) -> Fault {
        Fault::Ended
    }

    fn place(&self) -> &str {
        "here"
    }
}

/// So many connections, all of them made and fresh.
async fn pool_of(connections: usize, clock: Clock) -> Pool<Server> {
    let pool = Pool::new(Server::default(), connections, limits(), clock);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let pool = pool.clone();
        calls.spawn(async move { pool.ask(Say::Soon).await });
    }
    for done in calls.join_all().await {
        done.unwrap();
    }
    assert_eq!(pool.0.idle.lock().len(), connections);
    pool
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

fn begin(call: Pin<&mut impl Future>) {
    let polled = call.poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Pending));
}

#[tokio::test(start_paused = true)]
async fn a_call_on_a_fresh_connection_needs_no_task() {
    let pool = pool_of(2, Clock::tokio()).await;
    let before = tasks();
    let mut call = pin!(pool.ask(Say::Soon));
    begin(call.as_mut());
    assert_eq!(tasks(), before);
    call.await.unwrap();
    assert_eq!(pool.0.idle.lock().len(), 2);
}

/// A stream of calls whose body asks too leaves them alone meanwhile: it must not
/// wait for them for ever.
#[tokio::test(start_paused = true)]
async fn calls_that_are_left_alone_hold_up_no_other() {
    for connections in 1..=4 {
        let pool = pool_of(connections, Clock::tokio()).await;
        let mut left: Vec<_> = (0..8).map(|_| Box::pin(pool.ask(Say::Soon))).collect();
        for call in &mut left {
            begin(call.as_mut());
        }
        let other = tokio::time::timeout(limits().call * 10, pool.ask(Say::Soon));
        other.await.expect("they hold all connections").unwrap();
        for call in left {
            call.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_ends_and_leaves_its_connection_in_order() {
    let pool = pool_of(2, Clock::tokio()).await;
    let (made, answered) = (
        counts(&pool),
        pool.0.driver.answered.load(Ordering::Relaxed),
    );
    begin(pin!(pool.ask(Say::Soon)));
    while pool.0.idle.lock().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(pool.0.driver.answered.load(Ordering::Relaxed), answered + 1);
    assert_eq!(counts(&pool), made);
    // None of them is believed without a question.
    assert!(pool.0.fresh().is_none());
}

fn counts(pool: &Pool<Server>) -> usize {
    pool.0.driver.connections.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_without_an_answer_loses_its_connection() {
    let pool = pool_of(2, Clock::tokio()).await;
    begin(pin!(pool.ask(Say::Never)));
    assert_eq!(pool.0.permits.available_permits(), 1);
    let began = tokio::time::Instant::now();
    while pool.0.permits.available_permits() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(began.elapsed() >= GRACE && began.elapsed() < GRACE * 2);
    assert_eq!(pool.0.idle.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_over_its_limit_may_have_happened_and_loses_its_connection() {
    let pool = pool_of(2, Clock::tokio()).await;
    let error = pool.ask(Say::Never).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.outcome(), Outcome::MayHave);
    assert_eq!(pool.0.idle.lock().len(), 1);
    assert_eq!(pool.0.permits.available_permits(), 2);
}

/// What is polled after the runtime of the connections has ended is no panic.
#[test]
fn a_call_that_is_dropped_after_its_runtime_is_let_go() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let pool = runtime.block_on(async {
        let pool = pool_of(2, Clock::boot()).await;
        Arc::new(pool)
    });
    let asking = Arc::clone(&pool);
    let mut call = Box::pin(async move { asking.ask(Say::Never).await });
    begin(call.as_mut());
    drop(runtime);
    drop(call);
    assert_eq!(pool.0.permits.available_permits(), 2);
}
