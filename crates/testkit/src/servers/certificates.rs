//! Certificates for servers and clients that no other program trusts.

use std::path::Path;
use std::process::Command;

/// An authority of its own, in a folder that is removed with it, and what it signed for
/// `localhost` and 127.0.0.1: `ca.crt`, `server.crt`, `server.key`, `client.crt`, `client.key`.
#[derive(Debug)]
pub struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    /// Makes them with the `openssl` of the system.
    ///
    /// # Panics
    /// If that fails.
    pub fn make() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        make(folder.path());
        Self { folder }
    }

    /// Where the file `name` is.
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What the file `name` holds.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("one of the files that were made")
    }

    /// The options of a URL for a client that trusts the authority, and that it has signed.
    pub fn options(&self) -> String {
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
            .expect("openssl runs");
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
