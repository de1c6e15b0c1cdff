//! TLS, to a server that insists on it.

use std::path::Path;
use std::process::Command;

use tenure::ErrorKind;

use crate::dialect;
use crate::support::{bid, client, win};

fn openssl(folder: &Path, args: &str) {
    let out = Command::new("openssl")
        .current_dir(folder)
        .args(args.split(' '))
        .output();
    let out = out.expect("openssl is installed");
    assert!(
        out.status.success(),
        "{args}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// An authority and a server's certificate for 127.0.0.1 in `folder`.
fn certify(folder: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(
        folder,
        &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 30 -subj /CN=ca"),
    );
    openssl(
        folder,
        &format!("req {key} -keyout server.key -out server.csr -subj /CN=server"),
    );
    std::fs::write(folder.join("ext"), "subjectAltName=IP:127.0.0.1").unwrap();
    let sign = "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30";
    openssl(folder, &format!("{sign} -extfile ext -out server.pem"));
}

#[tokio::test]
async fn a_server_is_verified_and_nothing_goes_in_clear() {
    let (ours, foreign) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certify(ours.path());
    certify(foreign.path());
    let read = |name: &str| std::fs::read(ours.path().join(name)).unwrap();
    let server = dialect::encrypted(&read("server.pem"), &read("server.key"));
    let url = |options: &str| format!("{}?{options}", dialect::as_app(&server, "s3cret-word"));
    let ca = |folder: &Path| format!("tls_ca={}", folder.join("ca.pem").display());
    let trusted = [
        ca(ours.path()),
        format!("tls=verify-ca&{}", ca(ours.path())),
        "tls=require".to_owned(),
        "tls=prefer".to_owned(),
        // As hosted servers show it.
        dialect::hosted(&ours.path().join("ca.pem")),
    ];
    for (round, options) in trusted.iter().enumerate() {
        let store = client(&url(options))
            .await
            .unwrap_or_else(|e| panic!("{options}: {e:?}"));
        win(&store, &bid(&format!("m{round}"), "a")).await;
    }
    let error = client(&url(&ca(foreign.path()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
    let error = client(&url("tls=off")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    // No certificate is for this name.
    let other = url(&ca(ours.path())).replace("127.0.0.1", "localhost");
    let error = client(&other).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error:?}");
    let error = client(&url("tls=require&tls_ca=x.pem")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    let twice = format!("tls=off&{}", dialect::hosted(Path::new("x.pem")));
    let error = client(&url(&twice)).await.unwrap_err();
    assert!(error.to_string().contains("are the same"), "{error:?}");
    let error = client(&url("tls_cert=x.pem")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
}
