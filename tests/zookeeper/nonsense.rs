//! A server, or what stands before it, says something that cannot be understood.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tenure_testkit::servers::ZooKeeper;
use tokio::time::timeout;

use crate::support::{PATIENCE, coordinator, name, until};

/// An answer to what was never asked: its length, number, transaction and error.
const NONSENSE: [u8; 20] = [
    0, 0, 0, 16, 0x7f, 0xff, 0xff, 0xf0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
];

/// How long the client waits for it: for more than two heartbeats of an eighth of a
/// session, so that one of them is on its way, and not so long that the driver gives up.
const SILENCE: Duration = Duration::from_secs(2);

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
                let server = TcpStream::connect(server).unwrap();
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
        let mut is_first = true;
        loop {
            let mut length = [0; 4];
            from.read_exact(&mut length)?;
            let mut body = vec![0; u32::from_be_bytes(length) as usize];
            from.read_exact(&mut body)?;
            // Not before the answer to a ping, which keeps nobody waiting, or an event.
            let number = i32::from_be_bytes(body[..4].try_into().unwrap());
            if !is_first && number > 0 && talks_nonsense.swap(false, Ordering::SeqCst) {
                thread::sleep(SILENCE);
                to.write_all(&NONSENSE)?;
            }
            is_first = false;
            to.write_all(&[&length[..], &body].concat())?;
        }
    };
    let _ = forward();
    let _ = to.shutdown(Shutdown::Both);
}

/// The session may live on, though the client takes its own driver for dead: what it has
/// granted is believed until it is known to have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_given_up_lives_for_as_long_as_its_tenures_are_believed() {
    let server = ZooKeeper::start().unwrap();
    let way = Way::to(server.address());
    for _ in 0..3 {
        let name = name("nonsense");
        let owner = coordinator(way.address, "8s").await;
        let rival = coordinator(server.address(), "8s").await;
        let guard = owner.lock(&name).unwrap().acquire().await.unwrap();
        let lock = rival.lock(&name).unwrap();
        let next = tokio::spawn(async move { lock.acquire().await });
        let waiting = || server.word("dump").unwrap().matches(&name).count() == 2;
        until("the rival waits", waiting).await;
        way.talks_nonsense.store(true, Ordering::SeqCst);
        let next = timeout(PATIENCE, next).await.expect("its turn comes");
        let next = next.unwrap().unwrap();
        // It is the rival's by now, and so it has ended here.
        assert!(guard.token().is_err(), "two own");
        next.release().await.unwrap();
        drop(guard);
        owner.close().await.unwrap();
        rival.close().await.unwrap();
    }
}
