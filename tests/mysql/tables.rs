//! Tables as one finds them: old, narrow, of another character set or
//! collation, missing, and at the end of their versions.

use tenure::backend::{AnyBackend, Backend, Severity};
use tenure::{Error, ErrorKind, Outcome, Retry};
use tenure_testkit::Whole as _;

use crate::SERVER;
use crate::support::{bid, client, renew, terms, win};

/// A table with these columns for names and ids, and a client of it.
async fn table(name: &str, mutex: &str, owner: &str, version: &str, tail: &str) -> AnyBackend {
    let ddl = format!(
        "CREATE TABLE {name} (mutex {mutex} NOT NULL PRIMARY KEY, acquired_at BIGINT UNSIGNED \
         NOT NULL, ttl_at BIGINT UNSIGNED NOT NULL, transition_at BIGINT UNSIGNED NOT NULL, \
         owner_id {owner} NOT NULL, version {version} NOT NULL) {tail}"
    );
    SERVER.sql(&ddl).unwrap();
    client(&format!("{}?table={name}", SERVER.url()))
        .await
        .unwrap()
}

/// Runs the ALTER that `error` prints.
fn follow(error: &Error) {
    let text = error.to_string();
    let at = text
        .find("ALTER TABLE")
        .unwrap_or_else(|| panic!("prints no ALTER: {text}"));
    let end = text[at..].find(';').expect("a whole statement");
    SERVER.sql(&text[at..at + end]).unwrap();
}

fn is_final(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    assert_eq!(error.outcome(), Outcome::DidNot, "{error:?}");
    assert_eq!(error.retry(), Retry::Never, "{error:?}");
}

#[tokio::test]
async fn ids_are_bytes_on_a_case_insensitive_and_on_a_latin1_table() {
    let tails = [
        (
            "ids_ci",
            "DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_ci",
        ),
        ("ids_latin1", "DEFAULT CHARSET = latin1"),
    ];
    for (name, tail) in tails {
        let client = table(name, "VARCHAR(66)", "VARCHAR(128)", "INT UNSIGNED", tail).await;
        let held = win(&client, &bid("é-m", "worker-é")).await;
        for other in ["WORKER-é", "worker-É", "worker-e", "worker-ê"] {
            let mut twin = held.clone();
            twin.contender = other.parse().unwrap();
            assert!(
                !renew(&client, &twin).await.unwrap().is_won(),
                "{name}: {other}"
            );
            assert!(
                !client.release(&twin).await.unwrap().is_won(),
                "{name}: {other}"
            );
            client.leave(&bid("é-m", other)).await.unwrap();
            assert!(!client.acquire(&bid("é-m", other)).await.unwrap().is_won());
        }
        assert!(renew(&client, &held).await.unwrap().is_won(), "{name}");
        assert!(client.release(&held).await.unwrap().is_won(), "{name}");
    }
}

#[tokio::test]
async fn names_that_the_collation_holds_equal_get_an_error_with_the_alter() {
    let tails = [
        (
            "names_ci",
            "DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_ci",
        ),
        ("names_latin1", "DEFAULT CHARSET = latin1"),
    ];
    for (name, tail) in tails {
        let client = table(name, "VARCHAR(66)", "VARCHAR(128)", "INT UNSIGNED", tail).await;
        let held = win(&client, &bid("orders", "a")).await;
        let error = client.acquire(&bid("Orders", "b")).await.unwrap_err();
        is_final(&error);
        assert!(
            error.to_string().contains("\"orders\""),
            "names the other: {error}"
        );
        let mut twin = held.clone();
        twin.name = "ORDERS".parse().unwrap();
        assert!(
            !renew(&client, &twin).await.unwrap().is_won(),
            "another name"
        );
        assert!(
            !client.release(&twin).await.unwrap().is_won(),
            "another name"
        );
        let nobody = client.owner(&twin.name).await.unwrap();
        assert_eq!(
            nobody.owner().owner_id(),
            None,
            "nobody owns a name without a row"
        );
        assert!(!client.revoke(&twin.name, None).await.unwrap().is_won());
        follow(&error);
        win(&client, &bid("Orders", "b")).await;
        assert!(renew(&client, &held).await.unwrap().is_won());
    }
}

#[tokio::test]
async fn a_name_outside_the_character_set_gets_an_error_with_the_alter() {
    let tail = "DEFAULT CHARSET = latin1";
    let client = table("chars", "VARCHAR(66)", "VARCHAR(128)", "INT UNSIGNED", tail).await;
    for (mutex, id) in [("日本", "a"), ("m", "日本")] {
        let error = client.acquire(&bid(mutex, id)).await.unwrap_err();
        is_final(&error);
        assert!(error.to_string().contains("utf8mb4"), "{error}");
    }
    let rows = SERVER
        .sql("SELECT COUNT(*) FROM chars WHERE mutex LIKE '%?%'")
        .unwrap();
    assert_eq!(rows, "0", "no row with question marks for a name");
    follow(&client.acquire(&bid("日本", "a")).await.unwrap_err());
    win(&client, &bid("日本", "日本")).await;
}

#[tokio::test]
async fn an_id_too_long_for_an_old_table_gets_an_error_with_the_alter() {
    let tail = "DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin";
    let client = table("old", "VARCHAR(66)", "CHAR(32)", "INT UNSIGNED", tail).await;
    let short = "0123456789abcdef0123456789abcdef";
    let held = win(&client, &bid("m", short)).await;
    assert!(
        renew(&client, &held).await.unwrap().is_won(),
        "32 characters fit"
    );
    assert!(client.release(&held).await.unwrap().is_won());
    let held = win(&client, &bid("m", "brief")).await;
    assert!(
        renew(&client, &held).await.unwrap().is_won(),
        "a padded id is its own"
    );
    assert!(client.release(&held).await.unwrap().is_won());
    let long = format!("{short}x");
    let error = client.acquire(&bid("m", &long)).await.unwrap_err();
    is_final(&error);
    follow(&error);
    win(&client, &bid("m", &long)).await;
}

#[tokio::test]
async fn versions_warn_before_their_end_and_are_refused_at_it() {
    let tail = "DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin";
    let client = table("ends", "VARCHAR(66)", "VARCHAR(128)", "INT UNSIGNED", tail).await;
    let held = win(&client, &bid("m", "a")).await;
    client.release(&held).await.unwrap();
    let version = async |client: &AnyBackend| {
        let findings = client.check().await;
        findings
            .into_iter()
            .find(|finding| finding.subject == "version")
    };
    assert_eq!(version(&client).await, None, "far from it");
    let set = |number: u64| {
        SERVER
            .sql(&format!("UPDATE ends SET version = {number}"))
            .unwrap()
    };
    set((1 << 31) - (1 << 20));
    let warning = version(&client).await.expect("near the end");
    assert_eq!(warning.severity, Severity::Warning);
    assert!(warning.remedy.contains("BIGINT UNSIGNED"), "{warning:?}");
    set((1 << 31) - 2);
    let held = win(&client, &bid("m", "a")).await;
    assert_eq!(
        held.token.store(),
        (1 << 31) - 1,
        "the last that a JVM can read"
    );
    assert!(renew(&client, &held).await.unwrap().is_won());
    assert!(client.release(&held).await.unwrap().is_won());
    for _ in 0..2 {
        let error = client.acquire(&bid("m", "a")).await.unwrap_err();
        is_final(&error);
        assert!(error.to_string().contains("BIGINT UNSIGNED"), "{error}");
    }
    assert_eq!(version(&client).await.unwrap().severity, Severity::Bad);
    follow(&client.acquire(&bid("m", "a")).await.unwrap_err());
    let next = win(&client, &bid("m", "b")).await;
    assert_eq!(next.token.store(), 1 << 31);
    set(1 << 38);
    client.release(&next).await.unwrap();
    client.revoke(&next.name, None).await.unwrap();
    assert_eq!(
        win(&client, &bid("m", "c")).await.token.store(),
        (1 << 38) + 1
    );
}

#[tokio::test]
async fn thirty_two_contenders_on_a_new_name_twenty_times_and_no_error() {
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(client(&SERVER.url()).await.unwrap());
    }
    for round in 0..20 {
        let mut bids = tokio::task::JoinSet::new();
        for number in 0..32 {
            let client = clients[number % 8].clone();
            let mut bid = bid(&format!("new-{round}"), &format!("c{number}"));
            bid.terms = terms(60_000, 60_000);
            bids.spawn(async move { client.acquire(&bid).await.unwrap().is_won() });
        }
        let won = bids.join_all().await.into_iter().filter(|won| *won).count();
        assert_eq!(won, 1, "round {round}");
    }
}

#[tokio::test]
async fn a_table_that_is_something_else_is_refused_with_the_ddl() {
    SERVER
        .sql("CREATE TABLE other (id INT PRIMARY KEY)")
        .unwrap();
    let error = client(&format!("{}?table=other", SERVER.url()))
        .await
        .unwrap_err();
    is_final(&error);
    assert!(
        error
            .to_string()
            .contains("CREATE TABLE IF NOT EXISTS `other`"),
        "{error}"
    );
}

#[tokio::test]
async fn the_doctor_names_a_server_that_is_read_only_as_replicas_are() {
    let server = crate::Server::start().unwrap();
    let store = client(&server.url()).await.unwrap();
    crate::dialect::set_read_only(&server, true);
    let findings = store.check().await;
    let named = findings.iter().find(|one| one.subject == "read-only");
    let named = named.unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(named.severity, tenure::backend::Severity::Bad, "{named:?}");
}
