//! URLs as other clients and hosting companies write them: understood, or answered with our word.

use tenure::stores;

fn check(url: &str) -> Result<(), String> {
    let checked = url.parse().and_then(|options| stores::check(&options));
    checked.map_err(|error| error.to_string())
}

#[test]
fn urls_of_hosted_servers_are_understood_as_they_are_shown() {
    for url in [
        // Neon, Supabase, Heroku, Aiven, Prisma, sqlx.
        "postgres://u:p@ep-a.eu.neon.tech/db?sslmode=require&channel_binding=prefer",
        "postgresql://u:p@db.supabase.co:5432/postgres?sslmode=require",
        "postgres://u:p@h:5432/db?sslmode=verify-full&sslrootcert=/ca.pem",
        "postgres://u:p@h/db?sslmode=verify-ca&sslrootcert=/ca.pem&target_session_attrs=read-write",
        "postgres://u:p@h/db?sslaccept=strict&connection_limit=5",
        "postgres://u:p@h/db?ssl-mode=verify-ca&ssl-ca=/ca.pem",
        "postgres://u:p@h/db?gssencmode=disable&sslsni=1&client_encoding=UTF8",
        // PlanetScale, Aiven, Connector/J, MariaDB, Prisma.
        "mysql://u:p@aws.connect.psdb.cloud/db?sslaccept=strict",
        "mysql://u:p@h:3306/db?ssl-mode=REQUIRED",
        "mysql://u:p@h/db?useSSL=true&useUnicode=true&characterEncoding=UTF-8&autoReconnect=true",
        "mariadb://u:p@h/db?sslMode=verify-full",
        "mysql://u:p@h/db?ssl_ca=/ca.pem&ssl_mode=VERIFY_IDENTITY",
        // redis-py, Upstash, ioredis.
        "redis://default:p@h:6379/0?protocol=3",
        "rediss://default:p@h:6379?ssl_cert_reqs=required",
        "redis+sentinel://a,b,c/0?service_name=m&sentinel_username=w",
    ] {
        assert_eq!(check(url), Ok(()), "{url}");
    }
}

#[test]
fn what_means_nothing_here_is_answered_with_our_word() {
    for (url, said) in [
        ("postgres://h/db?sslmode=maybe", "disable, allow, prefer"),
        (
            "postgres://h/db?target_session_attrs=standby",
            "any, read-write, primary",
        ),
        ("postgres://h/db?channel_binding=require", "disable, prefer"),
        ("postgres://h/db?application_name=x", "are called tenure"),
        ("postgres://h/db?connect_timeout=10", "call_timeout=5s"),
        ("postgres://h/db?options=-c%20x%3Dy", "ALTER ROLE"),
        ("postgres://h/db?pgbouncer=true", "notify=off"),
        ("postgres://h/db?schema=app", "table=app.simba_mutex"),
        (
            "postgres://h/db?keepalives_idle=5",
            "asked whether it lives",
        ),
        (
            "postgres://h/db?user=s3cret",
            "postgres://user:password@host",
        ),
        ("mysql://h/db?ssl-mode=ON", "DISABLED, PREFERRED"),
        ("mysql://h/db?serverTimezone=UTC", "UTC"),
        ("mysql://h/db?allowPublicKeyRetrieval=true", "tls=require"),
        ("mysql://h/db?connectTimeout=5000", "call_timeout=5s"),
        ("mysql://h/db?charset=latin1", "utf8mb4"),
        ("redis://h?db=2", "redis://host/2"),
        ("redis://h?client_name=x", "have no name"),
        ("redis://h?ssl=true", "rediss://"),
        ("redis://h?password=s3cret", "redis://user:password@host"),
        ("redis://h?socket_timeout=5", "call_timeout=5s"),
        ("rediss://h?ssl_cert_reqs=none", "required"),
    ] {
        let error = check(url).expect_err(url);
        assert!(error.contains(said), "{url}: {error}");
        assert!(!error.contains("s3cret"), "{url}: {error}");
    }
}
