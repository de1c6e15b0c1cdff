use tenure_testkit::servers::find::Server;

#[test]
fn everything_the_tests_need_is_installed() {
    for server in Server::ALL {
        server.find_all().unwrap();
    }
}

#[test]
fn what_is_missing_is_said_with_the_remedy() {
    let missing = Server::Redis
        .find("redis-serverless")
        .unwrap_err()
        .to_string();
    for part in [
        "redis-serverless",
        "/usr/sbin",
        "TENURE_REDIS_BIN",
        "apt-get install redis-server",
    ] {
        assert!(missing.contains(part), "{missing}");
    }
}
