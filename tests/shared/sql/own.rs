//! The application's own way to connect: its pool, its options, a password that changes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlx::pool::PoolOptions;
use tenure::stores::{self, StoreOptions};
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::servers::Proxy;

use crate::dialect::{self, ConnectOptions, Database, Options};
use crate::support::{terms, until};

const SECOND: Duration = Duration::from_secs(1);

fn parsed(url: &str) -> ConnectOptions {
    url.parse().unwrap()
}

/// With terms that leave time for many attempts to connect.
async fn coordinator(options: impl Into<StoreOptions>) -> tenure::Result<Coordinator> {
    let builder = Coordinator::builder().terms(terms(2_000, 20_000));
    builder.connect(options).await
}

async fn hasty(options: impl Into<StoreOptions>) -> Coordinator {
    let builder = Coordinator::builder().terms(terms(1_000, 4_000));
    builder.connect(options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_the_application_exhausts_ends_no_tenure() {
    let server = tokio::task::block_in_place(dialect::guarded);
    let pool = PoolOptions::<Database>::new()
        .max_connections(2)
        .acquire_timeout(Duration::from_millis(200));
    let pool = pool.connect(&server.url()).await.unwrap();
    let all = [pool.acquire().await.unwrap(), pool.acquire().await.unwrap()];
    pool.acquire()
        .await
        .expect_err("the application has taken all");
    // Connected, taken and held while the application gives nothing back.
    let owner = hasty(Options::from_pool(&pool)).await;
    let guard = owner.lock("m").unwrap().acquire().await.unwrap();
    let other = hasty(Options::from_pool(&pool)).await;
    let waiter = tokio::spawn({
        let lock = other.lock("m").unwrap();
        async move { lock.acquire().await }
    });
    // Three leases.
    tokio::time::sleep(15 * SECOND).await;
    assert!(guard.token().is_ok(), "renewed all the while");
    assert!(!waiter.is_finished(), "one owner at a time");
    guard.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(pool.size(), 2, "none of them is ours");
    drop(all);
    owner.close().await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_never_more_connections_than_were_given() {
    let server = tokio::task::block_in_place(dialect::guarded);
    let options = dialect::named(parsed(&server.url()));
    let options = Options::from_connect_options(options).with_connections(2);
    let coordinator = Arc::new(coordinator(options).await.unwrap());
    let most = Arc::new(AtomicUsize::new(0));
    let mut work = tokio::task::JoinSet::new();
    for number in 0..40 {
        let coordinator = Arc::clone(&coordinator);
        work.spawn(async move {
            let lock = coordinator.lock(format!("m{}", number % 10)).unwrap();
            for _ in 0..3 {
                lock.acquire().await.unwrap().release().await.unwrap();
            }
        });
    }
    while !work.is_empty() {
        let open = tokio::task::block_in_place(|| dialect::connections(&server));
        most.fetch_max(usize::try_from(open).unwrap(), Ordering::SeqCst);
        while let Some(done) = work.try_join_next() {
            done.unwrap();
        }
    }
    let most = most.load(Ordering::SeqCst);
    assert!(
        (1..=2 + dialect::BESIDE).contains(&most),
        "{most} connections"
    );
    coordinator.close().await.unwrap();
}

/// A tenure of a user whose password is changed twice, under connections that are cut. `change`
/// tells the application of it.
async fn survives_a_change_of_password(
    connected: impl AsyncFn(&Proxy) -> tenure::Result<Coordinator>,
    change: impl Fn(&str),
) {
    let server = tokio::task::block_in_place(dialect::guarded);
    let proxy = Proxy::start(server.address()).unwrap();
    let coordinator = connected(&proxy).await.unwrap();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    for word in ["second-word", "third-word"] {
        tokio::task::block_in_place(|| server.sql(&dialect::new_password(word)).unwrap());
        proxy.cut().unwrap();
        proxy.heal().unwrap();
        // The application learns of it later than the server.
        until("the old password is refused", async || {
            let refused = coordinator.lock(word).unwrap().try_acquire().await.err();
            refused.filter(|error| error.kind() == ErrorKind::Denied)
        })
        .await;
        change(word);
        let before = guard.remaining();
        until("it is renewed over a new connection", async || {
            guard.token().expect("the tenure goes on");
            (guard.remaining() > before).then_some(())
        })
        .await;
    }
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
}

/// The password of the moment.
#[derive(Clone)]
struct Password(Arc<Mutex<String>>);

impl Password {
    fn first() -> Self {
        Self(Arc::new(Mutex::new("s3cret-word".to_owned())))
    }

    fn set(&self, word: &str) {
        word.clone_into(&mut self.0.lock().unwrap());
    }

    fn get(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

fn app_through(proxy: &Proxy, password: &str) -> ConnectOptions {
    let (scheme, database) = (dialect::SCHEME, dialect::DATABASE);
    let port = proxy.port();
    parsed(&format!(
        "{scheme}://app:{password}@127.0.0.1:{port}/{database}"
    ))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_asked_for_before_every_connection() {
    let password = Password::first();
    survives_a_change_of_password(
        async |proxy| {
            let password = password.clone();
            let options = Options::new(("127.0.0.1", proxy.port()), dialect::DATABASE)
                .with_user("app")
                .with_password_from(move || std::future::ready(std::io::Result::Ok(password.get())))
                .with_create(false);
            coordinator(options).await
        },
        |word| password.set(word),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_are_asked_for_before_every_connection() {
    let password = Password::first();
    survives_a_change_of_password(
        async |proxy| {
            let (base, password) = (app_through(proxy, "nonsense"), password.clone());
            let options = Options::from_provider(move || {
                let options = base.clone().password(&password.get());
                async move { std::io::Result::Ok(options) }
            });
            coordinator(options.with_create(false)).await
        },
        |word| password.set(word),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_with_new_options_is_followed() {
    let kept = Mutex::new(None);
    survives_a_change_of_password(
        async |proxy| {
            let options = app_through(proxy, "s3cret-word");
            let pool = PoolOptions::<Database>::new().connect_lazy_with(options.clone());
            *kept.lock().unwrap() = Some((pool.clone(), options));
            coordinator(Options::from_pool(&pool).with_create(false)).await
        },
        |word| {
            let kept = kept.lock().unwrap();
            let (pool, options) = kept.as_ref().unwrap();
            pool.set_connect_options(options.clone().password(word));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_password_says_why_and_is_asked_again() {
    let server = tokio::task::block_in_place(dialect::guarded);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let options = Options::new(server.address().to_string(), dialect::DATABASE)
        .with_user("app")
        .with_create(false)
        .with_password_from(move || {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                match first {
                    true => Err("the vault is sealed"),
                    false => Ok("s3cret-word".to_owned()),
                }
            }
        });
    let error = coordinator(options.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    assert!(error.to_string().contains("the vault is sealed"), "{error}");
    let lazy = Coordinator::connect_lazy(options).unwrap();
    lazy.get().await.unwrap();
    assert!(asked.load(Ordering::SeqCst) > 1);
    lazy.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_never_says_its_password_costs_no_more_than_a_connection() {
    let options = Options::new("127.0.0.1:1", dialect::DATABASE)
        .with_call_timeout(Duration::from_millis(300))
        .with_password_from(std::future::pending::<Result<String, std::io::Error>>);
    let error = coordinator(options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    assert!(error.to_string().contains("within 300ms"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_can_be_made_in_code() {
    let (ours, foreign) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    super::tls::certify(ours.path());
    super::tls::certify(foreign.path());
    let read = |name: &str| std::fs::read(ours.path().join(name)).unwrap();
    let (cert, key) = (read("server.pem"), read("server.key"));
    let server = tokio::task::block_in_place(|| dialect::encrypted(&cert, &key));
    let options = parsed(&dialect::as_app(&server, "s3cret-word"));
    let with = |ca: Vec<u8>| Options::from_connect_options(dialect::trusting(options.clone(), ca));
    let trusted = coordinator(with(read("ca.pem")).with_create(false));
    let trusted = trusted.await.unwrap();
    let guard = trusted.lock("m").unwrap().acquire().await.unwrap();
    guard.release().await.unwrap();
    trusted.close().await.unwrap();
    let stranger = std::fs::read(foreign.path().join("ca.pem")).unwrap();
    let error = coordinator(with(stranger)).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error:?}");
}

#[test]
fn what_the_options_say_already_is_not_said_twice() {
    let own = || Options::from_connect_options(ConnectOptions::new());
    stores::check(&own().with_table("app.locks").into()).unwrap();
    for (options, said) in [
        (own().with_user("app"), "say where and as whom"),
        (own().with_password("s3cret"), "say where and as whom"),
        (own().with_port(7), "no host"),
        (
            own().with_tls(stores::TlsMode::Off),
            "unknown option \"tls\"",
        ),
        (own().with_socket("/a"), "unknown option \"socket\""),
        (own().with_connections(0), "1 to 64"),
    ] {
        let error = stores::check(&options.into()).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
}
