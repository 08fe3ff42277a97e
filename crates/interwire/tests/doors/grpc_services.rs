//! Beyond the contract: gRPC's own two services tell the truth.

use crate::exchange::{Exchange, free_address};
use crate::python;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

#[test]
fn what_reflection_names_is_served_and_health_follows_the_drain() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(folder.path(), &free_address(), &[]);
    let mut check = Command::new(python::interpreter())
        .arg(python::suite().join("checks/grpc_services.py"))
        .arg(exchange.url.replace("http://", ""))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(check.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "serving");
    exchange.terminate();
    assert!(check.wait().unwrap().success());
    assert!(exchange.wait().success());
}

#[test]
fn messages_come_in_the_dialect_that_is_asked_for_over_grpc() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(folder.path(), &free_address(), &[]);
    let check = Command::new(python::interpreter())
        .arg(python::suite().join("checks/grpc_translation.py"))
        .arg(exchange.url.replace("http://", ""))
        .output()
        .unwrap();
    assert!(
        check.status.success(),
        "{}",
        String::from_utf8_lossy(&check.stderr)
    );
    exchange.terminate();
    assert!(exchange.wait().success());
}
