//! The exchange as a process: addresses, folders, signals.

use crate::process::{Exchange, run, run_with, task};
use nix::sys::signal::Signal;

#[test]
fn what_was_accepted_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let sent = run_with(
        &["send", "--url", &exchange.url],
        &task("message-1", "agent.b", "conversation-1"),
    );
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    exchange.signal(Signal::SIGTERM);
    assert!(exchange.wait().success());
    let exchange = Exchange::on(folder.path());
    let read = run(&["inbox", "agent.b", "--url", &exchange.url, "--exec", "cat"]);
    assert_eq!(read.out, task("message-1", "agent.b", "conversation-1"));
}

#[test]
fn it_says_where_the_data_is_and_who_can_connect() {
    let folder = tempfile::tempdir().unwrap();
    let mut exchange = Exchange::on(folder.path());
    let data = folder.path().canonicalize().unwrap();
    assert_eq!(
        exchange.line(),
        format!("data in {} (fsync)", data.display())
    );
    assert!(exchange.line().contains("no other machine"));
    let mut exchange = Exchange::in_memory();
    assert!(exchange.line().contains("memory only"));
}

#[test]
fn two_processes_cannot_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let first = Exchange::on(folder.path());
    let data = folder.path().to_str().unwrap();
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", data]);
    assert_eq!(second.code, Some(1));
    assert!(
        second.err.contains("is in use by process"),
        "{}",
        second.err
    );
    first.kill();
    drop(Exchange::on(folder.path()));
}

#[test]
fn an_address_that_others_can_reach_needs_to_be_allowed() {
    let refused = run(&["serve", "--listen", "0.0.0.0:0", "--ephemeral"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--allow-open"), "{}", refused.err);
    let mut open = Exchange::start(&["--listen", "0.0.0.0:0", "--ephemeral", "--allow-open"]);
    open.line();
    assert!(open.line().contains("everybody"));
}

#[test]
fn a_taken_port_is_named_with_advice() {
    let exchange = Exchange::in_memory();
    let address = exchange.url.trim_start_matches("http://");
    let refused = run(&["serve", "--ephemeral", "--listen", address]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains(address) && refused.err.contains("--listen"),
        "{}",
        refused.err
    );
}

#[test]
fn it_ends_with_the_program_that_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut exchange = Exchange::on(folder.path());
    exchange.close_input();
    let ended = exchange.wait();
    assert!(ended.success());
}
