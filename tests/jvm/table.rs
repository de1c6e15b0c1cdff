//! The table that JVM Simba shares, through MySQL's own JDBC driver: on MariaDB, and on Oracle's
//! MySQL with `--servers mysql`.

use std::sync::LazyLock;

use tenure_testkit::servers::MariaDb;

use crate::machine::Library;
use crate::ours::{Kind, TRANSITION, TTL};
use crate::stories::{Fleet, stories};

static SERVER: LazyLock<MariaDb> = LazyLock::new(|| {
    let server = MariaDb::start().unwrap();
    // Before any JVM comes.
    let ddl = tenure::stores::mysql::schema(&server.url().parse().unwrap()).unwrap();
    server.sql(&ddl).unwrap();
    server
});

fn fleet(name: &str) -> Fleet {
    let [ttl, transition] = [TTL, TRANSITION].map(|time| time.as_millis().to_string());
    let (address, database) = (SERVER.address(), MariaDb::DATABASE);
    let options = "user=root&sslMode=DISABLED&allowPublicKeyRetrieval=true";
    Fleet {
        url: SERVER.url(),
        kind: Kind::Plain,
        library: Library {
            profile: "connector-j",
            version: "9.7.0",
            class: "Table",
        },
        words: vec![
            format!("jdbc:mysql://{address}/{database}?{options}"),
            name.to_owned(),
            ttl,
            transition,
        ],
        shares_tokens: true,
        name: name.to_owned(),
    }
}

stories!(fleet);
