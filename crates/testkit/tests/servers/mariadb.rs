use tenure_testkit::servers::{Galera, MariaDb, wait};

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

#[test]
fn a_node_that_was_killed_comes_back_with_what_it_missed() {
    let cluster = Galera::start().unwrap();
    let [first, second] = cluster.nodes();
    first.sql("create table a (n int primary key)").unwrap();
    first.sql("insert into a values (1)").unwrap();
    for round in 2..4 {
        second.kill().unwrap();
        cluster.wait_for(1).unwrap();
        first
            .sql(&format!("insert into a values ({round})"))
            .unwrap();
        second.start().unwrap();
        cluster.wait_for(2).unwrap();
        let rows = || second.sql("select count(*) from a").unwrap_or_default();
        wait::until_true("what it missed", || rows() == round.to_string()).unwrap();
    }
}
