use tenure_testkit::servers::MariaDb;

use crate::{drop_removes, kill_refuses, pause_silences};

#[test]
fn mariadb_lives_through_all_that_can_happen_to_it() {
    let mariadb = MariaDb::start().unwrap();
    mariadb
        .sql("create table a (n int); insert into a values (7)")
        .unwrap();
    pause_silences(&mariadb, |limit| mariadb.greets_within(limit));
    kill_refuses(&mariadb, mariadb.address());
    mariadb.start().unwrap();
    assert_eq!(mariadb.sql("select n from a").unwrap(), "7");
    mariadb.stop().unwrap();
    mariadb.start().unwrap();
    assert_eq!(mariadb.sql("select n from a").unwrap(), "7");
    mariadb.restart_empty().unwrap();
    assert_eq!(mariadb.sql("show tables").unwrap(), "");
    drop_removes(mariadb);
}

#[test]
fn mariadb_takes_settings() {
    let mariadb = MariaDb::builder()
        .set("max-connections", "17")
        .start()
        .unwrap();
    assert_eq!(mariadb.sql("select @@max_connections").unwrap(), "17");
}
