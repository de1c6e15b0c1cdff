//! Certificates for servers and clients that nobody else trusts.

use std::path::Path;
use std::process::Command;

use tenure_testkit::servers::RedisBuilder;

pub(crate) struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    pub(crate) fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Lets a server listen with TLS, and ask its clients for certificates.
    pub(crate) fn on(&self, mut server: RedisBuilder) -> RedisBuilder {
        for name in ["ca.crt", "server.crt", "server.key"] {
            server = server.file(name, std::fs::read(self.path(name)).unwrap());
        }
        server
            .set("tls-ca-cert-file", "{dir}/ca.crt")
            .set("tls-cert-file", "{dir}/server.crt")
            .set("tls-key-file", "{dir}/server.key")
            .tls_port()
    }

    /// The options of a URL for a client that such a server takes.
    pub(crate) fn options(&self) -> String {
        format!(
            "tls_ca={}&tls_cert={}&tls_key={}",
            self.path("ca.crt"),
            self.path("client.crt"),
            self.path("client.key")
        )
    }
}

/// Certificates for `localhost`, signed by an authority of their own.
fn make(folder: &Path) {
    let run = |words: &[&str]| {
        let made = Command::new("openssl")
            .args(words)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
    };
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let ca = ["req", "-x509", "-days", "2", "-subj", "/CN=test authority"];
    run(&[&ca[..], &key, &["-keyout", "ca.key", "-out", "ca.crt"]].concat());
    for who in ["server", "client"] {
        let (secret, request) = (format!("{who}.key"), format!("{who}.csr"));
        let made = [
            "req",
            "-subj",
            "/CN=localhost",
            "-keyout",
            &secret,
            "-out",
            &request,
        ];
        run(&[&made[..1], &key, &made[1..]].concat());
        std::fs::write(
            folder.join("san"),
            "subjectAltName=DNS:localhost,IP:127.0.0.1\n",
        )
        .unwrap();
        let signed = format!("{who}.crt");
        run(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "san",
            "-out",
            &signed,
        ]);
    }
}
