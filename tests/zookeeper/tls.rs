//! Over TLS, with certificates on both sides.

use std::sync::LazyLock;
use std::time::Duration;

use tenure::service::{ContendService, Contender, LocalContender};
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::servers::{Certificates, Proxy, ZooKeeper};

use crate::support::{name, until};

pub(crate) static PAPERS: LazyLock<Certificates> = LazyLock::new(Certificates::make);

/// It wants certificates of its clients.
static SERVER: LazyLock<ZooKeeper> =
    LazyLock::new(|| ZooKeeper::builder().tls(&PAPERS).start().unwrap());

pub(crate) fn url(host: &str, port: u16, options: &str) -> String {
    format!("zookeeper+tls://{host}:{port}?session_timeout=4s&{options}")
}

pub(crate) fn secure() -> u16 {
    SERVER.tls_port().unwrap()
}

fn contend(coordinator: &Coordinator, name: &str) -> ContendService<LocalContender> {
    let contender = LocalContender::new(name).unwrap();
    let service = coordinator.contend_service(contender).unwrap();
    service.start().unwrap();
    service
}

/// It cannot connect, and says why.
async fn refused(host: &str, port: u16, options: &str, why: &str) {
    // It tries for that long.
    let url = url(host, port, options).replace("=4s", "=1s");
    let error = Coordinator::connect(&url).await;
    let error = error.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    assert!(error.to_string().contains(why), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn leadership_passes_over_tls_and_to_who_speaks_plainly() {
    let name = name("tls");
    let options = PAPERS.options();
    let here = Coordinator::connect(url("localhost", secure(), &options)).await;
    let there = Coordinator::connect(url("127.0.0.1", secure(), &options)).await;
    let plain = format!("zookeeper://{}", SERVER.address());
    let plain = Coordinator::connect(&plain).await.unwrap();
    let (here, there) = (here.unwrap(), there.unwrap());
    let mut last = None;
    let mut leader = contend(&here, &name);
    for next in [&there, &plain, &here] {
        until("it leads", || leader.is_owner()).await;
        let token = leader.tenure().unwrap().token().unwrap();
        assert!(Some(token) > last);
        last = Some(token);
        let next = contend(next, &name);
        until("the next waits", || {
            let owner = next.state().after;
            owner.is_owner(leader.contender().contender_id())
        })
        .await;
        leader.stop().await.unwrap();
        leader = next;
    }
    until("it leads", || leader.is_owner()).await;
    for coordinator in [here, there, plain] {
        coordinator.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_is_made_again_over_tls() {
    let name = name("cut-tls");
    let proxy = Proxy::start(([127, 0, 0, 1], secure()).into()).unwrap();
    let url = url("localhost", proxy.port(), &PAPERS.options());
    let here = Coordinator::connect(url.replace("=4s", "=10s"))
        .await
        .unwrap();
    let ours = contend(&here, &name);
    until("it leads", || ours.is_owner()).await;
    let tenure = ours.tenure().unwrap();
    for _ in 0..3 {
        proxy.cut().unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // A lease of 6.25 s, renewed after the last cut.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let renewed = || tenure.is_lost() || tenure.remaining() > Duration::from_millis(5500);
    until("it is renewed", renewed).await;
    assert!(!tenure.is_lost(), "the session lived");
    here.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_certificates_is_said() {
    let strangers = Certificates::make();
    let (stranger, ours) = (strangers.options(), PAPERS.options());
    // Signed by none whom the server trusts, or not at all.
    let ca = format!("tls_ca={}", PAPERS.path("ca.crt"));
    let (cert, key) = (strangers.path("client.crt"), strangers.path("client.key"));
    let unknown = format!("{ca}&tls_cert={cert}&tls_key={key}");
    tokio::join!(
        refused("localhost", secure(), &stranger, "tls_ca"),
        refused("localhost", secure(), &unknown, "tls_cert"),
        refused("localhost", secure(), &ca, "tls_cert"),
        // The same server by a name that its certificate is not for.
        refused("[::ffff:127.0.0.1]", secure(), &ours, "not valid for name"),
        // The port for those who speak plainly.
        refused("localhost", SERVER.port(), &ours, "secureClientPort"),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_not_shown() {
    let url = url("localhost", secure(), &PAPERS.options());
    let url = url.parse().unwrap();
    let client = tenure::stores::open(&url, tenure::clock::Clock::boot()).await;
    let shown = format!("{:?}", client.unwrap());
    assert!(shown.contains("tls: true"), "{shown}");
    assert!(
        !shown.contains("PRIVATE") && !shown.contains("client.key"),
        "{shown}"
    );
}
