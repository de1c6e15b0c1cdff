//! A server, or what stands before it, says something that cannot be understood.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tenure::backend::{Backend, Interest};
use tenure_testkit::servers::ZooKeeper;
use tokio::time::timeout;

use crate::support::{PATIENCE, bid, client, name, until};

/// An answer to what was never asked: its length, number, transaction and error.
const NONSENSE: [u8; 20] = [
    0, 0, 0, 16, 0x7f, 0xff, 0xff, 0xf0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
];

/// A way to a server on which such an answer comes before the next one to a request.
struct Way {
    address: SocketAddr,
    talks_nonsense: Arc<AtomicBool>,
}

impl Way {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let talks_nonsense = Arc::new(AtomicBool::new(false));
        let talks = Arc::clone(&talks_nonsense);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // It has ended with its test; its clients may not have heard of that.
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || carry(from, to));
                let talks = Arc::clone(&talks);
                thread::spawn(move || answer(server, client, &talks));
            }
        });
        Self {
            address,
            talks_nonsense,
        }
    }
}

/// What the client says.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

/// What the server says, one message after the other.
fn answer(mut from: TcpStream, mut to: TcpStream, talks_nonsense: &AtomicBool) {
    let mut forward = || -> std::io::Result<()> {
        loop {
            let mut length = [0; 4];
            from.read_exact(&mut length)?;
            let mut body = vec![0; u32::from_be_bytes(length) as usize];
            from.read_exact(&mut body)?;
            // Not before the answer to a ping, for which no call waits, an event, or the
            // first word.
            let number = i32::from_be_bytes(body[..4].try_into().unwrap());
            if number > 0 && talks_nonsense.swap(false, Ordering::SeqCst) {
                to.write_all(&NONSENSE)?;
            }
            to.write_all(&[&length[..], &body].concat())?;
        }
    };
    let _ = forward();
    let _ = to.shutdown(Shutdown::Both);
}

/// The session may live on, though the client takes its own driver for dead: what it has
/// granted is believed until it is known to have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_given_up_lives_for_as_long_as_its_grants_are_believed() {
    let server = ZooKeeper::start().unwrap();
    let way = Way::to(server.address());
    for _ in 0..3 {
        let name = name("nonsense");
        let store = client(way.address, "?session_timeout=8s").await.unwrap();
        let rival = client(server.address(), "?session_timeout=8s")
            .await
            .unwrap();
        let (owner, next) = (bid(&name, "owner"), bid(&name, "next"));
        let asked = Instant::now();
        let won = store.acquire(&owner).await.unwrap();
        let left = won
            .owner()
            .remaining(won.now())
            .expect("it says until when");
        let held = [owner.held(won.token().expect("it was free"))];
        let mut hints = rival.changes(&Interest::in_turn(&next));
        assert!(!rival.acquire(&next).await.unwrap().is_won());
        // The next that is asked is a heartbeat.
        way.talks_nonsense.store(true, Ordering::SeqCst);
        until("it speaks", || !way.talks_nonsense.load(Ordering::SeqCst)).await;
        let given_up = async {
            while !matches!(store.renew(&held).await.remove(0), Ok(answer) if !answer.is_won()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, given_up).await.expect("it is given up");
        let its_turn = async {
            while !rival.acquire(&next).await.unwrap().is_won() {
                let hint = hints.next();
                let _ = timeout(Duration::from_secs(1), hint).await;
            }
            Instant::now()
        };
        let its_turn = timeout(PATIENCE, its_turn).await.expect("its turn comes");
        let believed = asked + left;
        assert!(its_turn >= believed, "{:?} sooner", believed - its_turn);
        store.close().await.unwrap();
        rival.close().await.unwrap();
    }
}
