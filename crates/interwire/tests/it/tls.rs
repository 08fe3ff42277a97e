//! TLS on the listener, with the verbs as clients.

use crate::process::{Exchange, Ran, finish, interwire};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use std::path::{Path, PathBuf};

/// An authority, and what it signed, as files.
struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, format!("{name} authority"));
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = folder.join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("ca.pem"), certificate.pem()).unwrap();
        Self {
            folder,
            issuer: Issuer::new(params, key),
        }
    }

    fn sign(&self, name: &str, purpose: ExtendedKeyUsagePurpose) {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.folder.join(format!("{name}.pem")), signed.pem()).unwrap();
        std::fs::write(self.folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }
}

fn server(authority: &Authority, more: &[&str]) -> Exchange {
    authority.sign("server", ExtendedKeyUsagePurpose::ServerAuth);
    let certificate = format!("tls_certificate={}", authority.path("server.pem"));
    let key = format!("tls_key={}", authority.path("server.key"));
    let own = [
        "--listen",
        "127.0.0.1:0",
        "--ephemeral",
        "--set",
        &certificate,
        "--set",
        &key,
    ];
    Exchange::start(&[&own[..], more].concat())
}

fn send(url: &str, more: &[&str]) -> Ran {
    let own = ["send", "--url", url, "--json"];
    let envelope = r#"{"v":"1","id":"evt_1","ts":"2026-11-30T16:00:00Z","type":"event","from":"agent.a","to":"agent.b","intent":"test.thing.happened","corr":"conv-0001","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{},"sig":null}"#;
    finish(interwire(&[&own[..], more].concat()), envelope)
}

#[test]
fn verbs_speak_tls_with_an_exchange_whose_authority_they_know() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "own");
    let exchange = server(&authority, &[]);
    assert!(exchange.url.starts_with("https://"), "{}", exchange.url);
    let ca = authority.path("ca.pem");
    let sent = send(&exchange.url, &["--ca", &ca]);
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    // Over a WebSocket.
    let read = [
        "inbox",
        "agent:b",
        "--url",
        &exchange.url,
        "--ca",
        &ca,
        "--ack",
        "--follow",
    ];
    let read = finish(interwire(&[&read[..], &["--max", "1"]].concat()), "");
    assert!(read.out.contains("evt_1"), "{read:?}");
}

#[test]
fn strangers_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "own");
    let other = Authority::new(folder.path(), "other");
    let exchange = server(&authority, &[]);
    for more in [&[][..], &["--ca", &other.path("ca.pem")]] {
        let sent = send(&exchange.url, more);
        assert_eq!(sent.code, Some(3), "{sent:?}");
        assert!(sent.err.contains("certificate"), "{sent:?}");
    }
    let plain = exchange.url.replace("https", "http");
    assert_eq!(send(&plain, &[]).code, Some(3));
}

#[test]
fn only_clients_with_a_certificate_come_in_where_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "own");
    let other = Authority::new(folder.path(), "other");
    let asks = format!("tls_client_ca={}", authority.path("ca.pem"));
    let exchange = server(&authority, &["--set", &asks]);
    let ca = authority.path("ca.pem");
    authority.sign("client", ExtendedKeyUsagePurpose::ClientAuth);
    other.sign("client", ExtendedKeyUsagePurpose::ClientAuth);
    assert_eq!(send(&exchange.url, &["--ca", &ca]).code, Some(3));
    for (whose, code) in [(&other, 3), (&authority, 0)] {
        let (certificate, key) = (whose.path("client.pem"), whose.path("client.key"));
        let more = ["--ca", &ca, "--certificate", &certificate, "--key", &key];
        let sent = send(&exchange.url, &more);
        assert_eq!(sent.code, Some(code), "{sent:?}");
    }
}

#[test]
fn half_a_configuration_is_refused_before_anything_listens() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "own");
    let ca = format!("tls_client_ca={}", authority.path("ca.pem"));
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--ephemeral",
        "--set",
        &ca,
    ];
    let ended = finish(interwire(&serve), "");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("tls_certificate"), "{ended:?}");
}
