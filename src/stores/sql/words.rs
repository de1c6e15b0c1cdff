//! What URLs of hosted servers say, of MySQL and of PostgreSQL alike.

use crate::backend::url::Meaning::{Each, Instead, Same};
use crate::backend::url::{Foreign, Meaning};

pub(in crate::stores) const ON_OFF: Meaning = Each("tls", &[("true", "require"), ("false", "off")]);
pub(in crate::stores) const LIMIT: Meaning =
    Instead("call_timeout=5s limits every call, connecting too");

/// As Prisma says it.
const ACCEPTED: Meaning = Each(
    "tls",
    &[
        ("strict", "verify-full"),
        ("accept_invalid_certs", "require"),
    ],
);

pub(super) const FOREIGN: &[Foreign] = &[
    Foreign::new("ssl", ON_OFF),
    Foreign::new("sslaccept", ACCEPTED),
    Foreign::new("ssl-ca", Same("tls_ca")),
    Foreign::new("ssl-cert", Same("tls_cert")),
    Foreign::new("ssl-key", Same("tls_key")),
    Foreign::new("connection_limit", Same("connections")),
    Foreign::new("connect_timeout", LIMIT),
    Foreign::new("pool_timeout", LIMIT),
];
