//! Unix sockets, TLS, logins and databases.

use std::path::Path;
use std::process::Command;

use tenure::ErrorKind;
use tenure::backend::Backend;
use tenure_testkit::servers::Redis;

use crate::support::{Waiter, bid, long, name, open, try_open, win};

/// A hand-over, so that both connections are used.
async fn works(url: &str) {
    let client = open(url).await;
    let mutex = name("m");
    let held = win(&client, &bid(&mutex, "a", long())).await;
    let mut waiter = Waiter::stand(&client, bid(&mutex, "b", long())).await;
    assert!(client.release(&held).await.unwrap().is_won());
    let held = waiter.win(&client).await;
    assert!(client.release(&held).await.unwrap().is_won());
}

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

/// A certificate for `localhost`, signed by an authority of its own.
fn certificates(folder: &Path) {
    let run = |words: &[&str]| {
        let made = Command::new("openssl")
            .args(words)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
    };
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let ca = ["req", "-x509", "-days", "2", "-subj", "/CN=test authority"];
    run(&[&ca[..], &key, &["-keyout", "ca.key", "-out", "ca.crt"]].concat());
    for who in ["server", "client"] {
        let (secret, request) = (format!("{who}.key"), format!("{who}.csr"));
        let made = [
            "req",
            "-subj",
            "/CN=localhost",
            "-keyout",
            &secret,
            "-out",
            &request,
        ];
        run(&[&made[..1], &key, &made[1..]].concat());
        std::fs::write(
            folder.join("san"),
            "subjectAltName=DNS:localhost,IP:127.0.0.1\n",
        )
        .unwrap();
        let signed = format!("{who}.crt");
        run(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "san",
            "-out",
            &signed,
        ]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_works_and_strangers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let server = Redis::builder()
        .file("ca.crt", file("ca.crt"))
        .file("server.crt", file("server.crt"))
        .file("server.key", file("server.key"))
        .set("tls-ca-cert-file", "{dir}/ca.crt")
        .set("tls-cert-file", "{dir}/server.crt")
        .set("tls-key-file", "{dir}/server.key")
        .tls_port()
        .start()
        .unwrap();
    let port = server.tls_port().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (ca, cert, key) = (path("ca.crt"), path("client.crt"), path("client.key"));
    let mutual = format!("rediss://localhost:{port}?tls_ca={ca}&tls_cert={cert}&tls_key={key}");
    works(&mutual).await;
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
