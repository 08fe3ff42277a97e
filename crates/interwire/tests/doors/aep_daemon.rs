//! Beyond the contract: clients of the AEP daemon work unchanged.

use crate::exchange::{Exchange, free_address};
use crate::python;
use std::process::Command;

#[test]
fn the_clients_of_the_aep_daemon_work_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(folder.path(), &free_address(), &[]);
    let output = Command::new(python::interpreter())
        .arg(python::suite().join("checks/aep_daemon.py"))
        .arg(&exchange.url)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{wrong}");
    assert_eq!(said.trim(), "all is as the SDK expects it");
}
