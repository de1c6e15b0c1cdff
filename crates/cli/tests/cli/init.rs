//! `tenure init`: what it prints, and what it makes.

use super::stores::{Store, unique};
use super::support::{Home, text};

#[test]
fn the_embedded_store() {
    let home = Home::new();
    let printed = home.output(["init", "--print", "--url", "sqlite:x.db"]);
    assert!(text(&printed.stdout).contains("CREATE TABLE simba_mutex"));
    assert!(!home.path("x.db").exists());
    let done = home.output(["--ttl", "3s", "init", "--url", "sqlite:x.db"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(home.path("x.db").exists());
}

#[test]
fn tables_that_a_service_may_not_make() {
    for (store, table) in [(Store::MariaDb, "`"), (Store::Postgres, "\"")] {
        let place = store.place().unwrap();
        let (table, quoted) = {
            let name = unique();
            (name.clone(), format!("{table}{name}{table}"))
        };
        let home = Home::at(format!("{place}?table={table}"));
        let printed = home.output(["init", "--print"]);
        assert_eq!(printed.status.code(), Some(0), "{printed:?}");
        let ddl = text(&printed.stdout);
        assert!(
            ddl.contains(&format!("CREATE TABLE IF NOT EXISTS {quoted}")),
            "{ddl}"
        );

        let service = Home::at(format!("{place}?table={table}&create=false"));
        let words = ["run", "-n", service.mutex(), "--", "true"];
        assert_eq!(
            service.output(words).status.code(),
            Some(78),
            "printing made nothing"
        );
        assert_eq!(home.output(["init"]).status.code(), Some(0));
        assert_eq!(service.output(words).status.code(), Some(0));
        assert_eq!(
            home.output(["init"]).status.code(),
            Some(0),
            "twice is no harm"
        );
    }
}

#[test]
fn the_nodes_of_zookeeper() {
    let place = Store::ZooKeeper.place().unwrap();
    let chroot = unique();
    let (_, host) = place.split_once("://").unwrap();
    let ours = Home::at(format!("zookeeper://app:s3cret@{host}/{chroot}/deep"));
    let printed = text(&ours.output(["init", "--print"]).stdout);
    assert!(printed.contains(&format!("create /{chroot}/deep/simba \"\" auth::cdrwa\n")));
    assert!(printed.contains("addauth digest app:") && !printed.contains("s3cret"));

    let done = ours.output(["init"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(text(&done.stderr).contains("the zookeeper store is set up"));
    let stranger = Home::at(format!("{place}/{chroot}/deep"));
    assert_eq!(
        stranger.output(["doctor"]).status.code(),
        Some(1),
        "it is not for all"
    );
    assert_eq!(ours.output(["doctor"]).status.code(), Some(0));
    assert_eq!(
        ours.output(["init"]).status.code(),
        Some(0),
        "twice is no harm"
    );
}
