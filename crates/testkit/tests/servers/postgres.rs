use tenure_testkit::servers::Postgres;

use crate::{drop_removes, kill_refuses, pause_silences};

#[test]
fn postgres_lives_through_all_that_can_happen_to_it() {
    let postgres = Postgres::start().unwrap();
    postgres
        .sql("create table a (n int); insert into a values (7)")
        .unwrap();
    pause_silences(&postgres, |limit| postgres.admits_within(limit));
    kill_refuses(&postgres, postgres.address());
    postgres.start().unwrap();
    assert_eq!(postgres.sql("select n from a").unwrap(), "7");
    postgres.stop().unwrap();
    postgres.start().unwrap();
    assert_eq!(postgres.sql("select n from a").unwrap(), "7");
    postgres.restart_empty().unwrap();
    assert_eq!(
        postgres.sql("select to_regclass('a') is null").unwrap(),
        "t"
    );
    drop_removes(postgres);
}

#[test]
fn postgres_takes_settings() {
    let postgres = Postgres::builder()
        .set("max_connections", "7")
        .start()
        .unwrap();
    assert_eq!(postgres.sql("show max_connections").unwrap(), "7");
}
