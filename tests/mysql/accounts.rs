//! How an account proves who it is, where servers differ.

use tenure::ErrorKind;
use tenure::backend::Backend as _;
use tenure_testkit::servers::MariaDb;

use crate::support::{bid, client, win};

/// A user with MySQL's own way to prove a password; MariaDB before 12 does not have it.
const USER: &str = "CREATE USER sha2@'%' IDENTIFIED WITH caching_sha2_password BY 's3cret-word'; \
     GRANT ALL ON tenure.* TO sha2@'%'";

fn as_sha2(server: &MariaDb, password: &str, tls: &str) -> String {
    let url = server.url().replace("root@", &format!("sha2:{password}@"));
    format!("{url}?tls={tls}")
}

/// The server remembers a password that was proven once. Until then it asks for the password
/// itself, which goes nowhere without TLS.
#[tokio::test]
async fn caching_sha2_works_over_tls_and_then_without_it_too() {
    let server = MariaDb::start().unwrap();
    if !MariaDb::is_mysql() {
        let error = server.sql(USER).unwrap_err().to_string();
        assert!(error.contains("caching_sha2_password"), "{error}");
        return;
    }
    server.sql(USER).unwrap();
    let in_clear = async |password: &str| {
        let error = client(&as_sha2(&server, password, "off"))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert!(error.to_string().contains("tls=require"), "{error}");
        assert!(
            !format!("{error:?} {error}").contains(password),
            "{error:?}"
        );
    };
    in_clear("s3cret-word").await;
    for tls in ["prefer", "require", "off"] {
        let url = as_sha2(&server, "s3cret-word", tls);
        let opened = client(&url).await;
        let store = opened.unwrap_or_else(|error| panic!("{tls}: {error:?}"));
        win(&store, &bid(&format!("over-{tls}"), "a")).await;
    }
    in_clear("another-word").await;
    for tls in ["prefer", "require"] {
        let denied = client(&as_sha2(&server, "another-word", tls)).await;
        let error = denied.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{tls}: {error:?}");
        assert!(!format!("{error:?} {error}").contains("another-word"));
    }
    // It has forgotten what was proven.
    server.restart().unwrap();
    in_clear("s3cret-word").await;
}

/// Words that some server keeps for itself, the newest among them.
#[tokio::test]
async fn tables_may_be_called_by_words_that_a_server_keeps_for_itself() {
    let words = [
        "rank",
        "groups",
        "lateral",
        "system",
        "offset",
        "returning",
        "manual",
        "parallel",
        "qualify",
        "tablesample",
        "library",
        "external",
        "select",
        "row_number",
    ];
    for word in words {
        let url = format!(
            "{}?table={word}&schedule_table={word}_ledger",
            crate::SERVER.url()
        );
        let store = client(&url)
            .await
            .unwrap_or_else(|error| panic!("{word}: {error:?}"));
        let held = win(&store, &bid("m", "a")).await;
        assert!(store.release(&held).await.unwrap().is_won(), "{word}");
        store.close().await.unwrap();
    }
}
