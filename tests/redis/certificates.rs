//! Redis with certificates.

pub(crate) use tenure_testkit::servers::Certificates;
use tenure_testkit::servers::RedisBuilder;

/// Lets a server listen with TLS, and ask its clients for certificates.
pub(crate) fn secured(mut server: RedisBuilder, papers: &Certificates) -> RedisBuilder {
    for name in ["ca.crt", "server.crt", "server.key"] {
        server = server.file(name, papers.read(name));
    }
    server
        .set("tls-ca-cert-file", "{dir}/ca.crt")
        .set("tls-cert-file", "{dir}/server.crt")
        .set("tls-key-file", "{dir}/server.key")
        .tls_port()
}
