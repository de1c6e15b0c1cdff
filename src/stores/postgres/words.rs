//! What URLs for libpq, for other clients and of hosted servers say.

use crate::backend::url::Meaning::{AsItIs, Each, Instead, Same};
use crate::backend::url::{Foreign, Meaning};
use crate::stores::sql::LIMIT;

/// How much security, as libpq says it.
const SSL_MODES: Meaning = Each(
    "tls",
    &[
        ("disable", "off"),
        ("allow", "prefer"),
        ("prefer", "prefer"),
        ("require", "require"),
        ("verify-ca", "verify-ca"),
        ("verify-full", "verify-full"),
    ],
);

const SESSIONS: Meaning = Instead("the sessions of this store are called tenure");
const PLACE: Meaning = Instead("write postgres://user:password@host:port/database");
const SCHEMA: Meaning = Instead("name the schema with the table, as in table=app.simba_mutex");
const PULSE: Meaning = Instead("a connection that is silent is asked whether it lives");
const PREPARED: Meaning = Instead("no statement is prepared");

pub(super) const FOREIGN: &[Foreign] = &[
    Foreign::new("sslmode", SSL_MODES),
    Foreign::new("ssl-mode", SSL_MODES),
    Foreign::new("sslrootcert", Same("tls_ca")),
    Foreign::new("ssl-root-cert", Same("tls_ca")),
    Foreign::new("sslcert", Same("tls_cert")),
    Foreign::new("sslkey", Same("tls_key")),
    Foreign::new(
        "sslpassword",
        Instead("the key in the file of tls_key has no password"),
    ),
    Foreign::new(
        "sslcrl",
        Instead("lists of revoked certificates are not read"),
    ),
    Foreign::new("sslsni", AsItIs(&["1"])),
    Foreign::new("sslnegotiation", AsItIs(&["postgres"])),
    Foreign::new("gssencmode", AsItIs(&["disable", "prefer"])),
    // Who cannot write cannot take, and is told so.
    Foreign::new(
        "target_session_attrs",
        AsItIs(&["any", "read-write", "primary"]),
    ),
    // The driver does not bind channels.
    Foreign::new("channel_binding", AsItIs(&["disable", "prefer"])),
    Foreign::new("client_encoding", AsItIs(&["utf8", "utf-8", "auto"])),
    Foreign::new("socket_timeout", LIMIT),
    Foreign::new("tcp_user_timeout", LIMIT),
    Foreign::new("keepalives", PULSE),
    Foreign::new("keepalives_idle", PULSE),
    Foreign::new("keepalives_interval", PULSE),
    Foreign::new("keepalives_count", PULSE),
    Foreign::new("application_name", SESSIONS),
    Foreign::new("fallback_application_name", SESSIONS),
    Foreign::new(
        "options",
        Instead("give the role its settings with ALTER ROLE"),
    ),
    Foreign::new("schema", SCHEMA),
    Foreign::new("currentSchema", SCHEMA),
    Foreign::new("search_path", SCHEMA),
    Foreign::new(
        "pgbouncer",
        Instead("behind a pooler in transaction mode write notify=off"),
    ),
    Foreign::new("statement_cache_size", PREPARED),
    Foreign::new("statement-cache-capacity", PREPARED),
    Foreign::new("prepareThreshold", PREPARED),
    Foreign::new("host", PLACE),
    Foreign::new("hostaddr", PLACE),
    Foreign::new("port", PLACE),
    Foreign::new("dbname", PLACE),
    Foreign::new("user", PLACE),
    Foreign::new("password", PLACE),
    Foreign::new("load_balance_hosts", AsItIs(&["disable"])),
];
