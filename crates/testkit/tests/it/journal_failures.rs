//! Every operation that the journal asks of its disk fails once, one after the other.

use crate::world::{Kept, options, read_all};
use interwire_testkit::{Cause, CrashDisk, Operation, Random};
use journal::{Durability, Error, Journal};
use std::sync::Arc;

const OPERATIONS: [Operation; 7] = [
    Operation::Open,
    Operation::Create,
    Operation::Rename,
    Operation::SyncFolder,
    Operation::Write,
    Operation::Truncate,
    Operation::Sync,
];

fn open(disk: &CrashDisk) -> Result<Journal, Error> {
    Journal::open(Arc::new(disk.clone()), options(200, Durability::Fsync))
}

/// Lives twice over several segments; returns what was acknowledged, and whether all went well.
fn live(disk: &CrashDisk, acknowledged: &mut Vec<Kept>) -> Result<(), Error> {
    for life in 0..2_u8 {
        let mut journal = open(disk)?;
        let reader = journal.reader();
        for batch in 0..6_u8 {
            let body = [life, batch, 7].repeat(20);
            journal.append(1, &[&body]);
            journal.append(2, &[&[batch]]);
            if let Err(first) = journal.commit() {
                journal.append(3, &[b"more"]);
                assert!(matches!(journal.commit(), Err(Error::Poisoned)));
                let found = read_all(&reader, &mut Random::new(1)).unwrap();
                assert_eq!(found, *acknowledged, "readers go on with what is durable");
                assert!(matches!(journal.close(), Err(Error::Poisoned)));
                return Err(first);
            }
            acknowledged.extend([(1, body), (2, vec![batch])]);
        }
        journal.close()?;
    }
    Ok(())
}

#[test]
fn whichever_operation_fails_what_was_acknowledged_is_there_after_a_restart() {
    let calm = CrashDisk::new(0);
    live(&calm, &mut Vec::new()).unwrap();
    let mut failures = 0;
    for operation in OPERATIONS {
        for passing in 0..calm.count(operation) {
            for seed in 0..6 {
                let disk = CrashDisk::new(seed);
                let cause = if seed % 2 == 0 {
                    Cause::Broken
                } else {
                    Cause::Full
                };
                disk.fail_after(passing, operation, cause);
                let mut acknowledged = Vec::new();
                let ended = live(&disk, &mut acknowledged);
                assert!(ended.is_err(), "{operation:?} {passing} was passed over");
                failures += 1;
                // The process starts again; with odd seeds the machine does.
                let disk = if seed < 3 { disk } else { disk.crash() };
                let found =
                    read_all(&open(&disk).unwrap().reader(), &mut Random::new(seed)).unwrap();
                assert!(
                    found.starts_with(&acknowledged),
                    "{operation:?} {passing} seed {seed}"
                );
                assert!(
                    found.len() <= acknowledged.len() + 2,
                    "{operation:?} {passing} seed {seed}"
                );
                // What was shown once stays, also when power is lost right after.
                let again = open(&disk.crash()).unwrap().reader();
                assert_eq!(read_all(&again, &mut Random::new(seed)).unwrap(), found);
            }
        }
    }
    assert!(failures > 300, "{failures} failures were tried");
}

#[test]
fn a_record_is_shown_after_its_commit_and_not_before() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    let reader = journal.reader();
    assert_eq!(journal.append(1, &[b"a"]), 1);
    assert_eq!(reader.range(), (1, 0));
    assert!(reader.read(1, 10, 100).unwrap().is_empty());
    assert_eq!(
        disk.count(Operation::Write),
        2,
        "nothing but manifest and header"
    );
    journal.commit().unwrap();
    assert_eq!(reader.range(), (1, 1));
}

#[test]
fn a_commit_is_one_write_and_one_sync() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    let count = || (disk.count(Operation::Write), disk.count(Operation::Sync));
    let before = count();
    for _ in 0..100 {
        journal.append(1, &[b"a", b"b"]);
    }
    journal.commit().unwrap();
    assert_eq!(count(), (before.0 + 1, before.1 + 1));
    journal.commit().unwrap();
    assert_eq!(
        count(),
        (before.0 + 1, before.1 + 1),
        "an empty commit does nothing"
    );
}

#[test]
fn a_failed_sync_beside_the_appends_stops_the_writer() {
    let disk = CrashDisk::new(1);
    let mut journal =
        Journal::open(Arc::new(disk.clone()), options(9_000, Durability::Os)).unwrap();
    journal.append(1, &[b"a"]);
    journal.commit().unwrap();
    disk.fail_after(0, Operation::Sync, Cause::Broken);
    let syncer = journal.syncer();
    assert!(matches!(syncer.sync(), Err(Error::Io(_))));
    assert!(matches!(syncer.sync(), Err(Error::Poisoned)));
    journal.append(1, &[b"b"]);
    assert!(matches!(journal.commit(), Err(Error::Poisoned)));
    assert!(
        matches!(journal.close(), Err(Error::Poisoned)),
        "a clean close would be a lie"
    );
}

#[test]
fn an_attempt_to_open_that_fails_moves_no_epoch_and_forgets_no_clean_close() {
    let disk = CrashDisk::new(1);
    let os = || Journal::open(Arc::new(disk.clone()), options(100, Durability::Os));
    let mut journal = os().unwrap();
    let cursor = journal.reader().cursor(0);
    for _ in 0..4 {
        journal.append(1, &[&[1; 100]]);
        journal.commit().unwrap();
    }
    journal.close().unwrap();
    disk.fail_after(2, Operation::Open, Cause::Broken);
    os().unwrap_err();
    assert_eq!(os().unwrap().reader().cursor(0), cursor);
}
