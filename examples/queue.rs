//! The competitor queue: tasks that share one slow session to something outside.
//! It is opened once and handed from task to task in the order in which they
//! came; one that gives up leaves no gap.
//!
//! ```text
//! cargo run --example queue
//! ```

use std::sync::Arc;
use std::time::Duration;

use tenure::queue::{Competitor, CompetitorQueue, Place};

/// A session with a device that admits one client; dropped, it is closed.
struct Session {
    used: u32,
}

impl Session {
    async fn open() -> Self {
        println!("        the session is opened");
        tokio::time::sleep(Duration::from_millis(50)).await;
        Self { used: 0 }
    }

    async fn measure(&mut self) -> u32 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.used += 1;
        self.used
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        println!("        the session is closed after {} uses", self.used);
    }
}

#[derive(Debug)]
struct Job(&'static str);

/// The callbacks: all are optional.
impl Competitor for Job {
    fn holder_id(&self) -> &str {
        self.0
    }

    fn before_competing(&self) {
        println!("{}: stands first", self.0);
    }

    fn on_leaving(&self) {
        println!("{}: has left", self.0);
    }
}

async fn run(mut place: Place<Job, Session>) -> u32 {
    place.head().await;
    let mut session = match place.take_over() {
        Some(session) => session,
        None => Session::open().await,
    };
    place.won();
    let measured = session.measure().await;
    // With no job behind, both come back: close the session before leaving, or
    // the next job would be refused by the device.
    if let Err((place, session)) = place.hand_over(session) {
        drop(session);
        drop(place);
    }
    measured
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let queue: Arc<CompetitorQueue<Job, Session>> = CompetitorQueue::new();
    // The place counts from here, whenever the task is started.
    let places = ["first", "second", "third"].map(|name| queue.join(Job(name)));
    let [first, second, third] = places.map(|place| tokio::spawn(run(place)));
    assert!(queue.try_join(Job("hasty")).is_none(), "others wait");

    second.abort();
    assert_eq!(first.await.expect("it was not aborted"), 1);
    assert_eq!(third.await.expect("it was not aborted"), 2);
    assert!(queue.is_empty());
}
