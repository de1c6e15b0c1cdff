//! The application's own way to connect: its client, its TLS, a password that changes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, TlsCertificates};
use tenure::clock::Clock;
use tenure::stores::redis::{Redis as Client, RedisOptions};
use tenure::stores::{self, StoreOptions};
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::servers::{Redis, RedisCluster, RedisSentinel};

use crate::certificates::{Certificates, secured};
use crate::permits::{granted, lines};
use crate::support::{eventually, long, serves};

async fn opened(options: RedisOptions) -> Client {
    let options = StoreOptions::from(options);
    let client = Client::open(&options, Clock::boot()).await;
    client.unwrap_or_else(|error| panic!("{options:?}: {error:?}"))
}

fn trusting(papers: &Certificates) -> TlsCertificates {
    let read = |name: &str| papers.read(name);
    TlsCertificates {
        client_tls: Some(redis::ClientTlsConfig {
            client_cert: read("client.crt"),
            client_key: read("client.key"),
        }),
        root_cert: Some(read("ca.crt")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_lends_its_server_login_and_database() {
    let server = Redis::builder().password("p@ss/w:rd").unix_socket();
    let server = server.start().unwrap();
    let at = |db| format!("redis://:p%40ss%2Fw%3Ard@127.0.0.1:{}/{db}", server.port());
    let client = redis::Client::open(at(3)).unwrap();
    let options = RedisOptions::from_client(&client).with_prefix("own:");
    assert!(!format!("{options:?}").contains("p@ss"), "{options:?}");
    serves(&opened(options).await).await;
    let keys = server.command(&["INFO", "keyspace"]).unwrap();
    assert!(keys.contains("db3:"), "{keys}");
    let socket = server.socket();
    let socket = format!("unix://{}?db=4&pass=p%40ss%2Fw%3Ard", socket.display());
    let client = redis::Client::open(socket).unwrap();
    serves(&opened(RedisOptions::from_client(&client)).await).await;
    let keys = server.command(&["INFO", "keyspace"]).unwrap();
    assert!(keys.contains("db4:"), "{keys}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_can_be_made_in_code() {
    let (papers, strangers) = (Certificates::make(), Certificates::make());
    let server = secured(Redis::builder(), &papers).start().unwrap();
    let at = format!("rediss://localhost:{}", server.tls_port().unwrap());
    // A certificate that only code has.
    let client = redis::Client::build_with_tls(at.as_str(), trusting(&papers)).unwrap();
    serves(&opened(RedisOptions::from_client(&client)).await).await;
    let client = redis::Client::build_with_tls(at.as_str(), trusting(&strangers)).unwrap();
    let options = RedisOptions::from_client(&client).into();
    let error = Client::open(&options, Clock::boot()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    // What is trusted is said once.
    let twice = RedisOptions::from_client(&client).with_tls_ca("/ca.pem");
    let error = stores::check(&twice.into()).unwrap_err().to_string();
    assert!(error.contains("unknown option \"tls_ca\""), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_are_given_as_their_builder_has_them() {
    let papers = Certificates::make();
    let [_, user, ..] = &lines("redis+sentinel://tenure@host?master=m")[..] else {
        panic!("two lines or more");
    };
    let redis = tokio::task::block_in_place(|| {
        RedisSentinel::builder()
            .nodes(granted(secured(Redis::builder(), &papers), user))
            .sentinels(secured(Redis::builder(), &papers).password("w@tch"))
            .start()
            .unwrap()
    });
    let infos = redis.sentinels().iter().map(|sentinel| {
        let at = format!(
            "rediss://:w%40tch@127.0.0.1:{}",
            sentinel.tls_port().unwrap()
        );
        let client = redis::Client::build_with_tls(at, trusting(&papers)).unwrap();
        client.get_connection_info().clone()
    });
    let login = RedisConnectionInfo::default();
    let login = login.set_username("tenure").set_password("secret");
    let options = RedisOptions::from_sentinels(infos, RedisSentinel::MASTER_NAME, &login);
    serves(&opened(options).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_given_as_its_builder_has_it() {
    let cluster = tokio::task::block_in_place(|| RedisCluster::start().unwrap());
    let nodes = cluster.nodes().iter();
    let nodes = nodes.map(|node| format!("redis://127.0.0.1:{}", node.port()));
    serves(&opened(RedisOptions::from_cluster(nodes)).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_asked_for_before_every_connection() {
    let server = Redis::start().unwrap();
    let set = |word: &str| {
        let word = format!(">{word}");
        let user = [
            "ACL", "SETUSER", "app", "reset", "on", &word, "~*", "&*", "+@all",
        ];
        server.command(&user).unwrap();
    };
    set("first");
    let now = Arc::new(Mutex::new("first".to_owned()));
    let asked = Arc::new(AtomicUsize::new(0));
    let (word, count) = (Arc::clone(&now), Arc::clone(&asked));
    let options = RedisOptions::new(("127.0.0.1", server.port()))
        .with_user("app")
        .with_password_from(move || {
            let word = word.lock().unwrap().clone();
            count.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, std::io::Error>(word) }
        });
    let builder = Coordinator::builder().terms(long());
    let coordinator = builder.connect(options).await.unwrap();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    for next in ["second", "third"] {
        let before = asked.load(Ordering::SeqCst);
        set(next);
        *now.lock().unwrap() = next.to_owned();
        // "reset" has not ended what stands.
        server.command(&["CLIENT", "KILL", "USER", "app"]).unwrap();
        let taken = eventually("a new connection works", async || {
            let taken = coordinator.lock(next).unwrap().try_acquire().await;
            taken.ok().flatten()
        });
        taken.await.release().await.unwrap();
        assert!(asked.load(Ordering::SeqCst) > before, "asked for {next}");
        assert!(guard.token().is_ok(), "the tenure goes on under {next}");
    }
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let login = RedisConnectionInfo::default();
    let none: [&str; 0] = [];
    let two_logins = ["redis://:s3cret@a:1", "redis://b:1"];
    let two_ways = ["redis://a:1", "rediss://b:1"];
    let wrong = ["http://:s3cret@a"];
    let sockets = ["unix:///a"];
    let clear = ["redis://:s3cret@a:1"];
    let in_clear = redis::Client::open(clear[0]).unwrap();
    for (options, said) in [
        (
            RedisOptions::from_sentinels(none, "m", &login),
            "at least one",
        ),
        (
            RedisOptions::from_sentinels(two_logins, "m", &login),
            "the same login",
        ),
        (RedisOptions::from_cluster(two_ways), "TLS or none"),
        (RedisOptions::from_cluster(wrong), "no connection info"),
        (RedisOptions::from_cluster(sockets), "a host and a port"),
        // A client that asks for TLS is not connected in clear.
        (
            RedisOptions::from_client(&in_clear).with_tls(),
            "TLS is asked for",
        ),
        (
            RedisOptions::from_sentinels(clear, "m", &login).with_tls(),
            "TLS is asked for",
        ),
        (
            RedisOptions::from_cluster(clear).with_tls(),
            "TLS is asked for",
        ),
    ] {
        let error = stores::check(&options.into()).unwrap_err().to_string();
        assert!(
            error.contains(said) && !error.contains("s3cret"),
            "{said}: {error}"
        );
    }
    let negative = ConnectionAddr::Tcp("a".to_owned(), 1)
        .into_connection_info()
        .unwrap();
    let negative = negative.set_redis_settings(login.set_db(-1));
    let client = redis::Client::open(negative).unwrap();
    let error = stores::check(&RedisOptions::from_client(&client).into()).unwrap_err();
    assert!(error.to_string().contains("of that number"), "{error}");
}
