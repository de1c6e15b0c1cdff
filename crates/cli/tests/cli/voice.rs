//! How much is said on stderr: `-q`, `-v`, `-vv`; and never a secret.

use super::stores::{Lease, Store, on_every_store};
use super::support::{Home, holder, text};

on_every_store!(every_call_is_told_at_vv_and_no_secret_ever);

fn every_call_is_told_at_vv_and_no_secret_ever(store: Store) {
    let home = match store.place() {
        Some(place) => Home::at(with_password(store, &place)),
        None => Home::on(store, Lease::Usual),
    };
    for verbose in ["-v", "-vv", "-vvvv"] {
        let output = home.output([verbose, "run", home.mutex(), "--", "true"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(text(&output.stdout), "");
        let said = text(&output.stderr);
        assert!(said.contains("tenure: the store is "), "{said}");
        let calls = ["acquire{", "release{"].map(|call| said.contains(call));
        assert_eq!(calls, [verbose != "-v"; 2], "{verbose}: {said}");
        assert_tells_no_secret(&said);
    }
    for words in [
        &["-vvvv", "status"][..],
        &["-vvvv", "doctor"],
        &["-vvvv", "init"],
    ] {
        let output = home.output(words);
        assert_tells_no_secret(&(text(&output.stdout) + &text(&output.stderr)));
    }
}

/// Neither the password nor what is made of it on the way to a server.
fn assert_tells_no_secret(said: &str) {
    let encoded = [
        "s3cret",
        "czNjcmV0",
        "%733cret",
        "7333637265",
        "115, 51, 99, 114, 101, 116",
    ];
    // As user:password, whose base64 is another.
    let login = ["YXBwOnMzY3JldA", "OnMzY3JldA"];
    for part in encoded.iter().chain(&login) {
        assert!(!said.contains(part), "{part}: {said}");
    }
    // What the drivers log themselves is not shown.
    for driver in ["zookeeper_client", "sqlx", "redis::", "password: ["] {
        assert!(!said.contains(driver), "{driver}: {said}");
    }
}

/// The place with a password in it that the server takes.
fn with_password(store: Store, place: &str) -> String {
    let (scheme, rest) = place.split_once("://").unwrap();
    let host = rest.rsplit('@').next().unwrap();
    let user = match store {
        Store::Sqlite => unreachable!("it has no users"),
        Store::Redis => "app",
        Store::MariaDb => "app",
        Store::Postgres => "postgres",
        Store::ZooKeeper => "app",
    };
    store.admit(user, "s3cret");
    let own = if store == Store::ZooKeeper {
        "/own"
    } else {
        ""
    };
    format!("{scheme}://{user}:s3cret@{host}{own}")
}

#[test]
fn a_wrong_password_is_not_shown_either() {
    let place = Store::Redis.place().unwrap();
    let host = place.strip_prefix("redis://").unwrap();
    let home = Home::at(format!("redis://nobody:s3cret@{host}"));
    let output = home.output(["-vvv", "run", home.mutex(), "--", "true"]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    let said = text(&output.stderr);
    assert!(
        said.contains("nobody") && !said.contains("s3cret"),
        "{said}"
    );
}

#[test]
fn q_leaves_only_errors() {
    let home = Home::new();
    let _held = holder(&home);
    let words = ["run", "-n", home.mutex(), "--", "true"];
    assert_ne!(text(&home.output(words).stderr), "");
    let quiet = home.output(["-q"].iter().chain(&words));
    assert_eq!(quiet.status.code(), Some(75));
    assert_eq!(text(&quiet.stderr), "");
    let wrong = home.output(["-q", "--url", "sqlite:/no/such/place/x", "status"]);
    assert_eq!(wrong.status.code(), Some(78));
    assert!(text(&wrong.stderr).contains("/no/such/place"));
    let both = home.output(["-q", "-v", "status"]);
    assert_eq!(both.status.code(), Some(2), "they contradict each other");
}
