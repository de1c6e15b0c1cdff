//! Unix sockets, TLS, logins and databases.

use tenure::ErrorKind;
use tenure_testkit::servers::Redis;

use crate::certificates::{Certificates, secured};
use crate::support::{bid, long, name, open, try_open, win, works};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unix_socket_works() {
    let server = Redis::builder()
        .unix_socket()
        .password("s3cret")
        .start()
        .unwrap();
    let socket = server.socket();
    let url = format!("redis+unix:{}?db=2&password=s3cret", socket.display());
    works(&url).await;
    let without = format!("redis+unix:{}", socket.display());
    assert_eq!(
        try_open(&without).await.unwrap_err().kind(),
        ErrorKind::Denied
    );
    let missing = try_open("redis+unix:/does/not/exist.sock")
        .await
        .unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Unreachable, "{missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_and_a_database_number_work() {
    let server = Redis::builder().password("p@ss/w:rd").start().unwrap();
    let url = |db| format!("redis://:p%40ss%2Fw%3Ard@127.0.0.1:{}/{db}", server.port());
    works(&url(3)).await;
    // Databases are apart.
    let (three, four) = (open(&url(3)).await, open(&url(4)).await);
    win(&three, &bid(&name("m"), "a", long())).await;
    win(&four, &bid(&name("m"), "b", long())).await;
    let error = try_open(&url(99)).await.unwrap_err();
    assert!(error.to_string().contains("DB index"), "{error}");
    assert!(!format!("{three:?}").contains("p@ss"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_works_and_strangers_are_refused() {
    let papers = Certificates::make();
    let server = secured(Redis::builder(), &papers).start().unwrap();
    let port = server.tls_port().unwrap();
    let (ca, cert) = (papers.path("ca.crt"), papers.path("client.crt"));
    works(&format!("rediss://localhost:{port}?{}", papers.options())).await;
    let nobody = try_open(&format!("rediss://localhost:{port}?tls_ca={ca}")).await;
    assert!(nobody.is_err(), "the server asks for a certificate");
    server
        .command(&["CONFIG", "SET", "tls-auth-clients", "no"])
        .unwrap();
    works(&format!("rediss://localhost:{port}?tls_ca={ca}")).await;
    works(&format!("rediss://127.0.0.1:{port}?tls_ca={ca}")).await;
    let stranger = try_open(&format!("rediss://localhost:{port}"))
        .await
        .unwrap_err();
    assert_eq!(
        stranger.kind(),
        ErrorKind::Unreachable,
        "not signed by the system: {stranger:?}"
    );
    let half = try_open(&format!("rediss://localhost:{port}?tls_cert={cert}"))
        .await
        .unwrap_err();
    assert!(half.to_string().contains("tls_key"), "{half}");
}
