//! A start reads the newest checkpoint and the records after it, and knows everything all the same.

use crate::world::{event, files, publish, small, until};
use interwire_broker::{Broker, Handle, OpenError, PlaceName, Settings, Settle, Storage};
use protocol::{Code, Party};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use testkit::{Cause, CrashDisk, Operation};

fn settings(folder: &Path) -> Settings {
    Settings {
        storage: Storage::Folder(folder.to_owned()),
        ..small()
    }
}

fn open(folder: &Path) -> Broker {
    Broker::open(settings(folder), 7).unwrap()
}

async fn fill(handle: &Handle, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let sent = publish(
            handle,
            &event(&format!("message-{number}"), "agent.b", "{}"),
        )
        .await;
        assert!(!sent.unwrap().duplicate);
    }
}

/// Everything from 0 on is known, and nothing else.
async fn check(handle: &Handle, numbers: std::ops::Range<usize>) {
    for number in numbers.clone() {
        let id = format!("message-{number}");
        let again = publish(handle, &event(&id, "agent.b", "{}")).await.unwrap();
        assert!(again.duplicate, "{id}");
        let other = publish(handle, &event(&id, "agent.b", "{\"n\":1}")).await;
        assert_eq!(other.unwrap_err().code(), Code::IdConflict);
    }
    assert_eq!(handle.counts().await.unwrap().0.waiting, numbers.len());
}

/// Flips a bit of every tenth byte of a file.
fn damage(path: &Path, from: u64) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let length = file.metadata().unwrap().len();
    for at in (from..length).step_by(10) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_before_the_checkpoint_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let broker = open(folder.path());
    fill(&broker.handle(), 0..200).await;
    broker.close().await;
    assert!(
        !files(folder.path(), ".ckp").is_empty(),
        "a clean close writes a checkpoint"
    );
    let segments = files(folder.path(), ".seg");
    assert!(segments.len() > 10);
    // Reading this segment would refuse the start.
    damage(&folder.path().join(&segments[3]), 200);
    let broker = open(folder.path());
    let handle = broker.handle();
    let fresh = publish(&handle, &event("message-fresh", "agent.b", "{}")).await;
    assert!(!fresh.unwrap().duplicate);
    for number in [0, 77, 199] {
        let id = format!("message-{number}");
        let other = publish(&handle, &event(&id, "agent.b", "{\"n\":1}")).await;
        assert_eq!(other.unwrap_err().code(), Code::IdConflict, "{id}");
    }
    assert_eq!(handle.counts().await.unwrap().0.waiting, 201);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checkpoints_come_while_it_runs_and_hold_what_was_settled() {
    let folder = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let broker = open(folder.path());
    let handle = broker.handle();
    fill(&handle, 0..50).await;
    let place = || PlaceName::Inbox(Party::parse("agent.b"));
    let pulled = handle
        .pull(place(), None, 30, Duration::ZERO)
        .await
        .unwrap();
    let ids = pulled.iter().map(|delivery| delivery.id).collect();
    handle.settle(ids, Settle::Ack).await.unwrap();
    let head = handle.head().sequence;
    let name = format!("{head:020}.ckp");
    until("the checkpoint", || {
        files(folder.path(), ".ckp").contains(&name)
    })
    .await;
    // As if it was killed now: this copy has no word of a clean close.
    for name in files(folder.path(), "") {
        std::fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    broker.close().await;
    let broker = open(copy.path());
    let handle = broker.handle();
    let rest = handle
        .pull(place(), None, 99, Duration::ZERO)
        .await
        .unwrap();
    let rest: Vec<_> = rest
        .iter()
        .map(|one| one.entry.header.id.to_string())
        .collect();
    let expected: Vec<_> = (30..50).map(|number| format!("message-{number}")).collect();
    assert_eq!(rest, expected);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_that_cannot_be_read_costs_time_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut known = 0;
    for round in 0..4 {
        let broker = open(folder.path());
        check(&broker.handle(), 0..known).await;
        fill(&broker.handle(), known..known + 40).await;
        known += 40;
        broker.close().await;
        let checkpoints = files(folder.path(), ".ckp");
        assert!(checkpoints.len() <= 2, "{checkpoints:?}");
        match round {
            0 => damage(&folder.path().join(checkpoints.last().unwrap()), 100),
            1 => checkpoints
                .iter()
                .for_each(|name| damage(&folder.path().join(name), 0)),
            _ => checkpoints
                .iter()
                .for_each(|name| std::fs::remove_file(folder.path().join(name)).unwrap()),
        }
    }
    let broker = open(folder.path());
    check(&broker.handle(), 0..known).await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_keys_that_are_lost_or_damaged_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let broker = open(folder.path());
    // Two files at least, and too few to be merged.
    fill(&broker.handle(), 0..60).await;
    until("storing keys", || files(folder.path(), ".keys").len() > 1).await;
    broker.close().await;
    let keys = files(folder.path(), ".keys");
    std::fs::remove_file(folder.path().join(&keys[0])).unwrap();
    damage(&folder.path().join(keys.last().unwrap()), 0);
    let broker = open(folder.path());
    check(&broker.handle(), 0..60).await;
    broker.close().await;
    for name in files(folder.path(), ".keys") {
        std::fs::remove_file(folder.path().join(&name)).unwrap();
    }
    let broker = open(folder.path());
    check(&broker.handle(), 0..60).await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_refused_while_nobody_can_know_whether_it_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let broker = open(folder.path());
    let handle = broker.handle();
    // Few enough that no files are merged meanwhile, which would put whole ones in their place.
    fill(&handle, 0..60).await;
    // Fewer in memory than one table: no table is on its way into a file. Of such a file the keys would
    // be answered from memory, so that its damage would be found by the next life only.
    let one_table = settings(folder.path()).dedupe_recent_max;
    while handle.counts().await.unwrap().0.dedupe_entries >= one_table {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Entry pages only, so that the filters still pass what they should.
    for name in files(folder.path(), ".keys") {
        damage(&folder.path().join(&name), 8_192);
    }
    let mut refused = 0;
    for number in 0..60 {
        let id = format!("message-{number}");
        match publish(&handle, &event(&id, "agent.b", "{}")).await {
            Ok(receipt) => assert!(receipt.duplicate, "{id} was taken twice"),
            Err(refusal) => {
                assert_eq!(refusal.code(), Code::StorageFailed);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
    broker.close().await;
    let broker = open(folder.path());
    check(&broker.handle(), 0..60).await;
    broker.close().await;
}

/// Memory stays bounded also then; pulls and acknowledgements go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_disk_takes_no_keys_new_messages_wait_and_none_is_taken_twice() {
    let disk = CrashDisk::new(1);
    let settings = Settings {
        storage: Storage::Folder("unused".into()),
        segment_bytes: 1 << 30,
        ..small()
    };
    let broker = Broker::open_on(Arc::new(disk.clone()), None, settings, 7).unwrap();
    let handle = broker.handle();
    for passing in 0..10_000 {
        disk.fail_after(passing, Operation::Create, Cause::Full);
    }
    let mut sent = 0;
    let refusal = loop {
        let envelope = event(&format!("message-{sent}"), "agent.b", "{}");
        match publish(&handle, &envelope).await {
            Ok(receipt) => assert!(!receipt.duplicate),
            Err(refusal) => break refusal,
        }
        sent += 1;
        assert!(sent < 10_000, "memory grows without a bound");
    };
    assert_eq!(refusal.code(), Code::Overloaded);
    assert!(handle.counts().await.unwrap().0.dedupe_entries <= 8_300);
    let place = PlaceName::Inbox(Party::parse("agent.b"));
    let pulled = handle.pull(place, None, 1, Duration::ZERO).await.unwrap();
    let settled = handle
        .settle(vec![pulled[0].id], Settle::Ack)
        .await
        .unwrap();
    assert!(settled[0].is_ok());
    disk.clear_faults();
    let envelope = event(&format!("message-{sent}"), "agent.b", "{}");
    while let Err(refusal) = publish(&handle, &envelope).await {
        assert_eq!(refusal.code(), Code::Overloaded);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for number in (0..=sent).rev().step_by(97) {
        let envelope = event(&format!("message-{number}"), "agent.b", "{}");
        assert!(publish(&handle, &envelope).await.unwrap().duplicate);
    }
    broker.close().await;
}

#[test]
fn a_journal_of_another_kind_is_still_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("MANIFEST"), "no manifest").unwrap();
    let refused = Broker::open(settings(folder.path()), 7);
    assert!(matches!(refused, Err(OpenError::Journal(_))));
}
