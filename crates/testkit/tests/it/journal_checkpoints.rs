//! Checkpoints are whole or not there, and one is always left.

use crate::halting::stopped_everywhere;
use crate::world::{LINEAGE, options};
use interwire_testkit::{Cause, CrashDisk, Operation, Random};
use journal::{Checkpoints, Disk, Durability, Error, Journal, MemoryDisk};
use std::io::Write;
use std::sync::Arc;

fn open(disk: Arc<dyn Disk>) -> Journal {
    Journal::open(disk, options(400, Durability::Fsync)).unwrap()
}

/// A journal of twenty records.
fn grown(disk: Arc<dyn Disk>) -> Journal {
    let mut journal = open(disk);
    for number in 0..20_u8 {
        journal.append(1, &[&[number; 50]]);
        journal.commit().unwrap();
    }
    journal
}

fn body(sequence: u64) -> Vec<u8> {
    vec![sequence.to_le_bytes()[0]; 700]
}

fn names(disk: &dyn Disk) -> Vec<String> {
    let mut names = disk.list().unwrap();
    names.retain(|name| name.ends_with(".ckp") || name.contains("CHECKPOINT"));
    names.sort();
    names
}

fn latest(checkpoints: &Checkpoints) -> Option<(u64, Vec<u8>)> {
    let found = checkpoints.latest(u64::MAX).unwrap()?;
    Some((found.sequence, found.body.to_vec()))
}

#[test]
fn bodies_of_every_size_come_back_as_they_were() {
    let journal = grown(Arc::new(MemoryDisk::default()));
    let checkpoints = journal.checkpoints();
    assert_eq!(latest(&checkpoints), None);
    let piece = 1 << 20;
    for (sequence, bytes) in [0, 1, piece - 1, piece, piece + 1, 3 * piece + 5]
        .into_iter()
        .enumerate()
    {
        let body = Random::new(sequence as u64).bytes(bytes);
        checkpoints.write(sequence as u64, &body).unwrap();
        assert!(latest(&checkpoints) == Some((sequence as u64, body)));
    }
    let mut writer = checkpoints.begin(9).unwrap();
    for part in [&b"a"[..], b"", b"bc"] {
        writer.write_all(part).unwrap();
    }
    writer.keep().unwrap();
    assert_eq!(latest(&checkpoints), Some((9, b"abc".to_vec())));
    // One that was begun and given up.
    checkpoints.begin(10).unwrap().write_all(b"x").unwrap();
    assert_eq!(latest(&checkpoints), Some((9, b"abc".to_vec())));
}

#[test]
fn the_newest_two_are_kept_and_found_from_any_place() {
    let disk = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
    let checkpoints = journal.checkpoints();
    for sequence in [3, 7, 12] {
        checkpoints.write(sequence, &body(sequence)).unwrap();
    }
    assert_eq!(checkpoints.kept().unwrap(), [7, 12]);
    assert_eq!(names(disk.as_ref()).len(), 2);
    let at_most = |sequence| {
        let found = checkpoints.latest(sequence).unwrap();
        found.map(|checkpoint| checkpoint.sequence)
    };
    assert_eq!(at_most(6), None);
    assert_eq!(at_most(7), Some(7));
    assert_eq!(at_most(11), Some(7));
    assert_eq!(at_most(12), Some(12));
    drop(journal);
    assert_eq!(
        latest(&open(disk).checkpoints()),
        Some((12, body(12))),
        "they outlive the journal's life"
    );
}

#[test]
fn a_checkpoint_of_what_is_not_durable_is_refused() {
    let mut journal = grown(Arc::new(MemoryDisk::default()));
    let checkpoints = journal.checkpoints();
    journal.append(1, &[b"pending"]);
    assert!(matches!(checkpoints.write(21, b""), Err(Error::Io(_))));
    journal.commit().unwrap();
    checkpoints.write(21, b"").unwrap();
}

#[test]
fn whichever_byte_differs_or_is_missing_the_older_one_is_used_and_the_place_is_named() {
    let disk = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
    let checkpoints = journal.checkpoints();
    checkpoints.write(5, &body(5)).unwrap();
    checkpoints.write(9, &body(9)).unwrap();
    let name = &names(disk.as_ref())[1];
    let file = disk.open(name).unwrap();
    let length = usize::try_from(file.len().unwrap()).unwrap();
    let mut whole = vec![0; length];
    file.read_at(&mut whole, 0).unwrap();
    let check = |changed: &[u8], at: usize| {
        disk.create(name).unwrap().write_at(changed, 0).unwrap();
        let (found, unusable) = checkpoints.look(u64::MAX).unwrap();
        let found = found.unwrap();
        assert_eq!(
            (found.sequence, &found.body[..]),
            (5, &body(5)[..]),
            "at {at}"
        );
        assert_eq!(unusable.len(), 1);
        assert_eq!((&unusable[0].file, unusable[0].sequence), (name, 9));
        assert!(unusable[0].offset <= at as u64, "{}", unusable[0]);
        assert!(!unusable[0].what.is_empty());
    };
    for at in 0..length {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        check(&flipped, at);
        check(&whole[..at], at);
    }
    let mut longer = whole.clone();
    longer.push(0);
    check(&longer, length);
    disk.create(name).unwrap().write_at(&whole, 0).unwrap();
    assert_eq!(latest(&checkpoints), Some((9, body(9))));
}

#[test]
fn a_broken_one_is_the_first_to_go() {
    let disk = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
    let checkpoints = journal.checkpoints();
    checkpoints.write(5, &body(5)).unwrap();
    checkpoints.write(9, &body(9)).unwrap();
    disk.open(&names(disk.as_ref())[1])
        .unwrap()
        .write_at(b"?", 100)
        .unwrap();
    assert_eq!(latest(&checkpoints), Some((5, body(5))));
    checkpoints.write(11, &body(11)).unwrap();
    assert_eq!(checkpoints.kept().unwrap(), [5, 11]);
}

#[test]
fn one_of_another_journal_or_of_a_later_epoch_is_passed_over() {
    let make = |lineage: u64, epochs: u32| {
        let disk = Arc::new(MemoryDisk::default());
        for _ in 1..epochs {
            let options = journal::Options {
                lineage,
                ..options(400, Durability::Os)
            };
            drop(Journal::open(Arc::clone(&disk) as Arc<dyn Disk>, options).unwrap());
        }
        let options = journal::Options {
            lineage,
            ..options(400, Durability::Os)
        };
        let mut journal = Journal::open(Arc::clone(&disk) as Arc<dyn Disk>, options).unwrap();
        for _ in 0..9 {
            journal.append(1, &[b"a"]);
        }
        journal.commit().unwrap();
        assert_eq!(journal.reader().cursor(0).epoch, epochs);
        (disk, journal)
    };
    let copy = |from: &MemoryDisk, to: &MemoryDisk| {
        let name = &names(from)[0];
        let mut bytes = vec![0; 5_000];
        let count = from.open(name).unwrap().read_at(&mut bytes, 0).unwrap();
        to.create(name)
            .unwrap()
            .write_at(&bytes[..count], 0)
            .unwrap();
    };
    let (other, elder) = (make(LINEAGE + 1, 1), make(LINEAGE, 3));
    for from in [&other, &elder] {
        from.1.checkpoints().write(9, b"theirs").unwrap();
        let (disk, journal) = make(LINEAGE, 2);
        copy(&from.0, &disk);
        let (found, unusable) = journal.checkpoints().look(9).unwrap();
        assert_eq!((found, unusable.len()), (None, 1));
        assert_eq!(unusable[0].offset, 0);
    }
    // One of an earlier epoch says what the records up to it say.
    let (disk, _journal) = make(LINEAGE, 1);
    drop(_journal);
    let earlier = make(LINEAGE, 1);
    earlier.1.checkpoints().write(9, b"ours").unwrap();
    copy(&earlier.0, &disk);
    let journal = Journal::open(disk, options(400, Durability::Os)).unwrap();
    assert_eq!(journal.reader().cursor(0).epoch, 2);
    assert_eq!(latest(&journal.checkpoints()), Some((9, b"ours".to_vec())));
}

#[test]
fn without_syncs_per_commit_the_journal_is_synced_before_its_state_is_kept() {
    let mut lost = 0;
    for seed in 0..100 {
        let disk = CrashDisk::new(seed);
        let open = |disk: &CrashDisk| {
            Journal::open(Arc::new(disk.clone()), options(400, Durability::Os)).unwrap()
        };
        let mut journal = open(&disk);
        for number in 0..20_u8 {
            journal.append(1, &[&[number; 50]]);
            journal.commit().unwrap();
            if number == 11 {
                journal.checkpoints().write(12, &body(12)).unwrap();
            }
        }
        let disk = disk.crash();
        let journal = open(&disk);
        assert!(journal.reader().range().1 >= 12);
        lost += usize::from(journal.reader().range().1 < 20);
        assert_eq!(latest(&journal.checkpoints()), Some((12, body(12))));
    }
    assert!(lost > 10, "nothing was ever lost");
}

#[test]
fn one_that_is_ahead_of_the_journal_is_gone_before_its_sequences_are_given_out_again() {
    let disk = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
    journal.checkpoints().write(4, &body(4)).unwrap();
    journal.checkpoints().write(20, &body(20)).unwrap();
    drop(journal);
    let last = {
        let mut segments = disk.list().unwrap();
        segments.retain(|name| name.ends_with(".seg"));
        segments.sort();
        disk.open(&segments[segments.len() - 1]).unwrap()
    };
    last.truncate(last.len().unwrap() - 1).unwrap();
    let mut journal = open(disk);
    assert_eq!(journal.append(1, &[b"another 20"]), 20);
    journal.commit().unwrap();
    assert_eq!(latest(&journal.checkpoints()), Some((4, body(4))));
}

#[test]
fn stopped_at_any_change_the_newest_or_the_one_before_is_there() {
    stopped_everywhere(
        0..12,
        |disk| {
            let journal = grown(Arc::new(disk.clone()));
            for sequence in [3, 7] {
                journal
                    .checkpoints()
                    .write(sequence, &body(sequence))
                    .unwrap();
            }
            journal.close().unwrap();
        },
        |halting| {
            let journal = open(Arc::new(halting.clone()));
            halting.begin();
            journal.checkpoints().write(15, &body(15)).is_ok()
        },
        |is_written| *is_written,
        |disk, is_written, place| {
            let journal = open(Arc::new(disk.clone()));
            let (found, unusable) = journal.checkpoints().look(u64::MAX).unwrap();
            assert_eq!(unusable, [], "{place}");
            let found = found.unwrap();
            assert_eq!(found.body, body(found.sequence), "{place}");
            let possible: &[u64] = if *is_written { &[15] } else { &[7, 15] };
            assert!(possible.contains(&found.sequence), "{place}: {found:?}");
            // What was left behind does not stand in the way of the next.
            journal.checkpoints().write(20, &body(20)).unwrap();
            assert_eq!(journal.checkpoints().kept().unwrap().len(), 2, "{place}");
            assert!(names(&disk).len() == 2, "{place}: {:?}", names(&disk));
        },
    );
}

#[test]
fn a_full_disk_costs_the_new_one_and_no_other() {
    for operation in [
        Operation::Create,
        Operation::Write,
        Operation::Sync,
        Operation::Rename,
        Operation::SyncFolder,
        Operation::Remove,
    ] {
        for passing in 0..4 {
            let disk = CrashDisk::new(passing);
            let journal = grown(Arc::new(disk.clone()));
            let checkpoints = journal.checkpoints();
            checkpoints.write(3, &body(3)).unwrap();
            checkpoints.write(7, &body(7)).unwrap();
            disk.fail_after(passing, operation, Cause::Full);
            let written = checkpoints.write(15, &body(15));
            disk.clear_faults();
            assert!(!names(&disk).contains(&"CHECKPOINT.new".to_owned()));
            let found = latest(&checkpoints).unwrap();
            assert!(found.0 == 15 || written.is_err() && found.0 == 7);
            assert_eq!(found.1, body(found.0));
            checkpoints.write(16, &body(16)).unwrap();
            assert_eq!(latest(&checkpoints), Some((16, body(16))));
            assert_eq!(checkpoints.kept().unwrap().len(), 2);
        }
    }
}

#[test]
fn one_can_be_written_while_the_journal_is() {
    let mut journal = grown(Arc::new(MemoryDisk::default()));
    let checkpoints = journal.checkpoints();
    let reader = journal.reader();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..50 {
                let last = reader.range().1;
                checkpoints.write(last, &last.to_le_bytes()).unwrap();
                let found = checkpoints.latest(u64::MAX).unwrap().unwrap();
                assert_eq!(found.sequence, last);
                assert_eq!(found.body[..], last.to_le_bytes());
            }
        });
        for _ in 0..500 {
            journal.append(1, &[b"more"]);
            journal.commit().unwrap();
        }
    });
}
