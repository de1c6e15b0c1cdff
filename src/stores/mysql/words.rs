//! What URLs for other clients and of hosted servers say.

use crate::backend::url::Meaning::{AsItIs, Each, Instead, Same};
use crate::backend::url::{Foreign, Meaning};
use crate::stores::sql::{LIMIT, ON_OFF};

/// How much security, as the clients of MySQL and Connector/J say it.
const SSL_MODES: Meaning = Each(
    "tls",
    &[
        ("DISABLED", "off"),
        ("PREFERRED", "prefer"),
        ("REQUIRED", "require"),
        ("VERIFY_CA", "verify-ca"),
        ("VERIFY_IDENTITY", "verify-full"),
    ],
);

/// And as MariaDB's connector says it.
const MARIADB_MODES: Meaning = Each(
    "tls",
    &[
        ("DISABLED", "off"),
        ("disable", "off"),
        ("PREFERRED", "prefer"),
        ("REQUIRED", "require"),
        ("trust", "require"),
        ("VERIFY_CA", "verify-ca"),
        ("verify-ca", "verify-ca"),
        ("VERIFY_IDENTITY", "verify-full"),
        ("verify-full", "verify-full"),
    ],
);

const UTC: Meaning = Instead("all times of this store are UTC");
const STATEMENTS: Meaning = Instead("this store keeps the statements it needs");
const SESSION: Meaning = Instead("the session is this store's own: leave it out");
const PLACE: Meaning = Instead("write mysql://user:password@host:port/database");

pub(super) const FOREIGN: &[Foreign] = &[
    Foreign::new("ssl-mode", SSL_MODES),
    Foreign::new("ssl_mode", SSL_MODES),
    Foreign::new("sslMode", MARIADB_MODES),
    Foreign::new("sslmode", SSL_MODES),
    Foreign::new("useSSL", ON_OFF),
    Foreign::new("useSsl", ON_OFF),
    Foreign::new("requireSSL", ON_OFF),
    Foreign::new(
        "verifyServerCertificate",
        Each("tls", &[("true", "verify-full"), ("false", "require")]),
    ),
    Foreign::new("ssl_ca", Same("tls_ca")),
    Foreign::new("ssl_cert", Same("tls_cert")),
    Foreign::new("ssl_key", Same("tls_key")),
    Foreign::new("connectionLimit", Same("connections")),
    Foreign::new("charset", AsItIs(&["utf8mb4"])),
    Foreign::new("characterEncoding", AsItIs(&["utf8", "utf-8", "utf8mb4"])),
    Foreign::new("useUnicode", AsItIs(&["true"])),
    Foreign::new(
        "collation",
        Instead("names are compared byte by byte, whatever the collation"),
    ),
    Foreign::new("serverTimezone", UTC),
    Foreign::new("connectionTimeZone", UTC),
    Foreign::new("timezone", UTC),
    Foreign::new("loc", UTC),
    Foreign::new("parseTime", UTC),
    Foreign::new(
        "allowPublicKeyRetrieval",
        Instead("over TLS (tls=require) no key has to be asked for"),
    ),
    Foreign::new("autoReconnect", AsItIs(&["true"])),
    Foreign::new("connectTimeout", LIMIT),
    Foreign::new("socketTimeout", LIMIT),
    Foreign::new("timeout", LIMIT),
    Foreign::new("statement-cache-capacity", STATEMENTS),
    Foreign::new("cachePrepStmts", STATEMENTS),
    Foreign::new("allowMultiQueries", SESSION),
    Foreign::new("rewriteBatchedStatements", SESSION),
    Foreign::new("user", PLACE),
    Foreign::new("password", PLACE),
];
