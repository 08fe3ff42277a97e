//! Beyond the contract: sockets compress for clients that ask for it.

use crate::exchange::{Exchange, free_address};
use crate::python;
use std::process::Command;

/// What the check says with these settings.
fn check(settings: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(folder.path(), &free_address(), settings);
    let output = Command::new(python::interpreter())
        .arg(python::suite().join("checks/compression.py"))
        .arg(&exchange.url)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    (output.status.success(), said)
}

#[test]
fn sockets_compress_when_they_are_asked() {
    let (is_right, said) = check(&[]);
    assert!(is_right, "{said}");
    assert_eq!(said, "compressed when asked, and only then");
}

#[test]
fn sockets_do_not_compress_when_the_operator_says_so() {
    let (is_right, said) = check(&["http.compression=false"]);
    assert!(!is_right);
    assert_eq!(said, "asked for: not agreed");
}
