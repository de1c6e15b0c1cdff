//! What URLs for other clients and of hosted servers say.

use crate::backend::url::Meaning::{AsItIs, Instead, Same};
use crate::backend::url::{Foreign, Meaning};

const LIMIT: Meaning = Instead("call_timeout=5s limits every call");
const LOGIN: Meaning = Instead("write redis://user:password@host");
const NAME: Meaning = Instead("the connections of this store have no name");
const ONE: Meaning = Instead("one connection serves all calls, and one those who wait");
const PULSE: Meaning = Instead("a connection that is silent is asked whether it lives");

pub(super) const FOREIGN: &[Foreign] = &[
    Foreign::new("ssl_ca_certs", Same("tls_ca")),
    Foreign::new("ssl_certfile", Same("tls_cert")),
    Foreign::new("ssl_keyfile", Same("tls_key")),
    Foreign::new("ssl_cert_reqs", AsItIs(&["required", "CERT_REQUIRED"])),
    Foreign::new("ssl_check_hostname", AsItIs(&["true"])),
    Foreign::new("ssl", Instead("write rediss:// for TLS")),
    Foreign::new("tls", Instead("write rediss:// for TLS")),
    Foreign::new("verifyPeer", AsItIs(&["true", "full"])),
    Foreign::new("protocol", AsItIs(&["2", "3", "resp2", "resp3"])),
    Foreign::new("service_name", Same("master")),
    Foreign::new("master_name", Same("master")),
    Foreign::new("sentinelMasterId", Same("master")),
    Foreign::new("sentinel_username", Same("sentinel_user")),
    Foreign::new("client_name", NAME),
    Foreign::new("clientName", NAME),
    Foreign::new("timeout", LIMIT),
    Foreign::new("connect_timeout", LIMIT),
    Foreign::new("socket_timeout", LIMIT),
    Foreign::new("socket_connect_timeout", LIMIT),
    Foreign::new("dial_timeout", LIMIT),
    Foreign::new("read_timeout", LIMIT),
    Foreign::new("write_timeout", LIMIT),
    Foreign::new("max_connections", ONE),
    Foreign::new("pool_size", ONE),
    Foreign::new("health_check_interval", PULSE),
    Foreign::new("socket_keepalive", PULSE),
    Foreign::new("retry_on_timeout", AsItIs(&["true"])),
    Foreign::new("addr", Instead("list all hosts, separated by commas")),
];

/// Where hosts are named. Behind a Unix socket some of these are ours.
pub(super) const BESIDE_HOSTS: &[Foreign] = &[
    Foreign::new(
        "db",
        Instead("the number of the database is the path, as in redis://host/2"),
    ),
    Foreign::new(
        "database",
        Instead("the number of the database is the path, as in redis://host/2"),
    ),
    Foreign::new("user", LOGIN),
    Foreign::new("username", LOGIN),
    Foreign::new("password", LOGIN),
    Foreign::new("pass", LOGIN),
];
