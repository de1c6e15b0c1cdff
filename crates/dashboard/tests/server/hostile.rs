//! Clients that mean no good, or are just slow.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{PATIENCE, Server};

#[tokio::test]
async fn what_is_no_plain_request_is_refused() {
    let server = Server::start().await;
    for odd in [
        "GET http://localhost/api/v1/store HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\r\n Host: evil.example\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "nonsense\r\n\r\n",
        "\0\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
    ] {
        let reply = server.raw(odd.as_bytes()).await;
        assert!(!(200..300).contains(&reply.status), "{odd:?}: {reply:?}");
        assert!(!reply.body.contains('{'), "{odd:?}: {reply:?}");
    }
    for bytes in [
        &b"\xff\xfe\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = server.connect().await;
        stream.write_all(bytes).await.unwrap();
        drop(stream);
    }
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let server = Server::start().await;
    let long = "y".repeat(100_000);
    let many: String = (0..200).map(|number| format!("x{number}: y\r\n")).collect();
    for request in [
        format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{many}\r\n"),
    ] {
        let status = server.raw(request.as_bytes()).await.status;
        // Refused before it is read to its end, which may reset the connection.
        assert!(matches!(status, 431 | 414 | 0), "{status}");
    }
    // A body that is announced is not waited for where none is wanted.
    let reply = server
        .raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        .await;
    assert_eq!(reply.status, 200);
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn nothing_that_was_asked_is_repeated() {
    let server = Server::start().await;
    let mark = "<script>x</script>";
    for path in [
        format!("/{mark}"),
        format!("/?{mark}"),
        format!("/api/v1/mutexes?sort={mark}"),
        format!("/api/v1/mutexes?search={mark}"),
        format!("/api/v1/mutexes/{mark}"),
        format!("/api/v1/events?limit={mark}"),
        format!("/login?{mark}"),
    ] {
        // As it is it is no path at all.
        assert!(
            !server
                .raw(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes())
                .await
                .body
                .contains(mark)
        );
        let path = path.replace('<', "%3C").replace('>', "%3E");
        let reply = server.get(&path).await;
        assert!(
            !reply.head.contains(mark) && !reply.body.contains(mark),
            "{path}: {reply:?}"
        );
    }
}

/// Beside a crowd it answers long before the first of them have to go. A machine that
/// stood still proves nothing, so there is more than one try.
async fn answers_in_time(server: &Server) {
    let mut taken = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        assert_eq!(server.get("/healthz").await.status, 200);
        assert_eq!(server.get("/api/v1/store").await.status, 200);
        taken.push(start.elapsed());
        if start.elapsed() < Duration::from_secs(8) {
            return;
        }
    }
    panic!("it took {taken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_who_say_nothing_or_little_keep_no_other_out() {
    let server = Server::start().await;
    let mut crowd = Vec::new();
    for number in 0..1_000 {
        let mut stream = server.connect().await;
        if number % 2 == 0 {
            let _ = stream.write_all(b"GET / HTT").await;
        }
        crowd.push(stream);
        if crowd.len() > 400 {
            crowd.remove(0);
        }
    }
    answers_in_time(&server).await;
}

#[tokio::test]
async fn who_has_asked_is_answered_whatever_crowd_comes() {
    let server = Server::start().await;
    // A page that follows the changes is not sent away for those who are silent.
    let mut events = server.events("/api/v1/events").await;
    events.named("mutexes").await;
    let mut crowd: Vec<TcpStream> = Vec::new();
    for _ in 0..256 {
        crowd.push(server.connect().await);
    }
    let sent_away = tokio::time::timeout(PATIENCE, crowd[0].read(&mut [0; 1])).await;
    assert!(matches!(sent_away, Ok(Ok(0) | Err(_))), "{sent_away:?}");
    let _guard = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let news = events.named("mutexes").await;
    assert_eq!(news["mutexes"][0]["name"], "m");
}

#[tokio::test]
async fn slow_heads_and_slow_bodies_are_given_up() {
    let server = Server::start().await;
    let begun = |text: &'static str| {
        let address = server.address;
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
            let start = Instant::now();
            let mut answer = Vec::new();
            let read = stream.read_to_end(&mut answer);
            let _ = tokio::time::timeout(PATIENCE, read)
                .await
                .expect("it is given up");
            start.elapsed()
        }
    };
    let head = "GET / HTTP/1.1\r\nHost: localhost\r\nX: ";
    let silent = "";
    let (head, silent) = tokio::join!(begun(head), begun(silent));
    for taken in [head, silent] {
        assert!(taken > Duration::from_secs(5), "{taken:?}");
    }
    let options = tenure_dashboard::site::DashboardOptions::default().token("a long secret word");
    let server = Server::with(options).await;
    let mut stream = server.connect().await;
    let head = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\ntoken=";
    stream.write_all(head.as_bytes()).await.unwrap();
    let reply = crate::support::Reply::read(&mut stream).await;
    assert_eq!(reply.status, 413, "{reply:?}");
}
