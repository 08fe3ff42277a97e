//! Space that is written ahead: it is used, it is not mistaken for records, and it costs none.

use crate::world::{LINEAGE, options, read_all};
use interwire_testkit::{Cause, CrashDisk, Operation, Random};
use journal::{Disk, Durability, Error, Filler, Journal, MemoryDisk, RealDisk, frame};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SEGMENT_BYTES: u64 = 800;
/// Sixteen steps to a segment, and room for four more behind.
const FILLED_BYTES: u64 = 1_000;

fn open(disk: &CrashDisk) -> Result<Journal, Error> {
    open_as(disk, Durability::Fsync)
}

fn open_as(disk: &CrashDisk, durability: Durability) -> Result<Journal, Error> {
    Journal::open(Arc::new(disk.clone()), options(SEGMENT_BYTES, durability))
}

fn commit(journal: &mut Journal, count: u8) {
    for number in 1..=count {
        journal.append(number, &[&[number; 100]]);
        journal.commit().unwrap();
    }
}

fn fill(filler: &Filler) {
    while filler.step().unwrap() {}
}

fn length(disk: &dyn Disk, name: &str) -> u64 {
    disk.open(name).unwrap().len().unwrap()
}

fn segments(disk: &dyn Disk) -> Vec<String> {
    let mut names = disk.list().unwrap();
    names.retain(|name| name.ends_with(".seg"));
    names.sort_unstable();
    names
}

#[test]
fn the_active_segment_is_filled_and_then_a_spare_that_becomes_the_next() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    let filler = journal.filler();
    commit(&mut journal, 2);
    fill(&filler);
    assert_eq!(length(&disk, &segments(&disk)[0]), FILLED_BYTES);
    assert_eq!(length(&disk, "SPARE"), FILLED_BYTES);
    let writes = disk.count(Operation::Write);
    assert!(!filler.step().unwrap(), "there is nothing more to do");
    assert_eq!(disk.count(Operation::Write), writes);

    let creates = disk.count(Operation::Create);
    commit(&mut journal, 5);
    let names = segments(&disk);
    assert_eq!(names.len(), 2);
    assert_eq!(
        disk.count(Operation::Create),
        creates + 1,
        "only the sidecar"
    );
    assert_eq!(
        length(&disk, &names[0]),
        64 + 6 * 124,
        "closed without zeros"
    );
    assert_eq!(length(&disk, &names[1]), FILLED_BYTES);
    assert!(!disk.list().unwrap().contains(&"SPARE".to_owned()));
    assert!(filler.step().unwrap(), "the next spare is begun");

    let reader = journal.reader();
    let before = read_all(&reader, &mut Random::new(1)).unwrap();
    assert_eq!(before.len(), 7);
    drop(journal);
    // A crash may bring the zeros of the closed segment back; then it is read whole.
    for (disk, rescanned_max) in [(disk.crash(), 1), (disk.crash(), 1), (disk, 0)] {
        let journal = open(&disk).unwrap();
        assert_eq!(journal.recovery().segments, 2);
        assert!(journal.recovery().rescanned <= rescanned_max);
        let found = read_all(&journal.reader(), &mut Random::new(1)).unwrap();
        assert_eq!(found, before);
        assert_eq!(length(&disk, &names[0]), 64 + 6 * 124);
    }
}

#[test]
fn a_commit_into_written_space_is_one_write_and_one_sync_and_moves_no_end() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    fill(&journal.filler());
    let count = || (disk.count(Operation::Write), disk.count(Operation::Sync));
    let before = count();
    commit(&mut journal, 1);
    assert_eq!(count(), (before.0 + 1, before.1 + 1));
    assert_eq!(length(&disk, &segments(&disk)[0]), FILLED_BYTES);
}

#[test]
fn zeros_are_no_torn_tail_and_stay_also_after_a_close() {
    let disk = CrashDisk::new(1);
    for (life, is_closed) in [true, false, true, false].into_iter().enumerate() {
        let mut journal = open(&disk).unwrap();
        assert_eq!(journal.recovery().cut_bytes, 0);
        assert_eq!(journal.next_sequence(), 1 + life as u64);
        let name = &segments(&disk)[0];
        assert_eq!(length(&disk, name) == FILLED_BYTES, life > 0);
        fill(&journal.filler());
        commit(&mut journal, 1);
        if is_closed {
            journal.close().unwrap();
        }
    }
}

#[test]
fn a_closed_journal_that_lost_records_to_zeros_is_refused_where_they_were() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    fill(&journal.filler());
    commit(&mut journal, 2);
    journal.close().unwrap();
    let file = disk.open(&segments(&disk)[0]).unwrap();
    file.write_at(&[0; 124], 64 + 124).unwrap();
    match open(&disk) {
        Err(Error::Corrupt { offset, .. }) => assert_eq!(offset, 64 + 124),
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_closed_segment_that_lost_records_to_zeros_is_named_and_not_the_one_behind_it() {
    for ahead in [0, 300] {
        let disk = CrashDisk::new(1);
        let mut journal = open(&disk).unwrap();
        commit(&mut journal, 7);
        drop(journal);
        let name = &segments(&disk)[0];
        disk.remove(&name.replace(".seg", ".idx")).unwrap();
        let file = disk.open(name).unwrap();
        let last_start = 64 + 5 * 124;
        file.write_at(&vec![0; 124 + ahead], last_start).unwrap();
        match open(&disk) {
            Err(Error::Corrupt {
                segment, offset, ..
            }) => assert_eq!((&segment, offset), (name, last_start)),
            other => panic!("expected a refusal, got {other:?}"),
        }
        assert_eq!(file.len().unwrap(), last_start + 124 + ahead as u64);
    }
}

#[test]
fn a_byte_among_the_zeros_is_cut_and_no_record_with_it() {
    for at in 0..FILLED_BYTES - 64 - 2 * 124 {
        let disk = CrashDisk::new(1);
        let mut journal = open(&disk).unwrap();
        fill(&journal.filler());
        commit(&mut journal, 2);
        drop(journal);
        let file = disk.open(&segments(&disk)[0]).unwrap();
        file.write_at(&[1], 64 + 2 * 124 + at).unwrap();
        let journal = open(&disk).unwrap();
        assert_eq!(journal.next_sequence(), 3);
        assert_eq!(journal.recovery().cut_bytes, FILLED_BYTES - 64 - 2 * 124);
        assert_eq!(file.len().unwrap(), 64 + 2 * 124);
    }
}

#[test]
fn damage_far_before_its_witness_is_refused_and_a_long_torn_batch_is_cut() {
    for is_durable in [true, false] {
        let disk = Arc::new(MemoryDisk::default());
        let open = || Journal::open(disk.clone(), options(4 << 20, Durability::Fsync));
        let mut journal = open().unwrap();
        fill(&journal.filler());
        journal.append(1, &[b"first"]);
        if is_durable {
            journal.commit().unwrap();
        }
        // Ends in zeros, as the space behind it.
        journal.append(1, &[&[0; 300_000], b"second", &[0; 300_000]]);
        journal.commit().unwrap();
        drop(journal);
        let file = disk.open(&segments(disk.as_ref())[0]).unwrap();
        file.write_at(&[0; 29], 64).unwrap();
        match (is_durable, open()) {
            (true, Err(Error::Corrupt { offset: 64, .. })) => {}
            (false, Ok(journal)) => {
                assert_eq!(journal.next_sequence(), 1);
                assert_eq!(file.len().unwrap(), 64);
            }
            (_, other) => panic!("durable {is_durable}: {other:?}"),
        }
    }
}

#[test]
fn a_segment_made_of_a_spare_whose_header_was_lost_was_never_used() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    let filler = journal.filler();
    commit(&mut journal, 6);
    fill(&filler);
    commit(&mut journal, 1);
    fill(&filler);
    drop(journal);
    let name = segments(&disk).pop().unwrap();
    let file = disk.open(&name).unwrap();
    let mut header = [0; 64];
    file.read_at(&mut header, 0).unwrap();
    file.write_at(&[0; 124], 64).unwrap();
    for end in 0..64 {
        let mut torn = header;
        torn[end..].fill(0);
        if torn == header {
            continue;
        }
        file.write_at(&torn, 0).unwrap();
        file.sync().unwrap();
        let disk = disk.crash();
        let mut journal = open(&disk).unwrap();
        assert_eq!(journal.next_sequence(), 7, "torn at {end}");
        assert!(!segments(&disk).contains(&name));
        commit(&mut journal, 1);
        assert!(segments(&disk).contains(&name));
    }
    // One record says that it was used, and that it is damaged.
    file.write_at(&[0; 64], 0).unwrap();
    let mut record = Vec::new();
    frame::write(&mut record, frame::key(LINEAGE), 7, 1, 1, &[b"a"]);
    file.write_at(&record, 64).unwrap();
    assert!(matches!(open(&disk), Err(Error::Corrupt { offset: 0, .. })));
}

#[test]
fn a_header_of_a_spare_that_cannot_be_synced_costs_nothing_acknowledged() {
    for seed in 0..300 {
        for operation in [Operation::Sync, Operation::SyncFolder, Operation::Rename] {
            let disk = CrashDisk::new(seed);
            let mut journal = open(&disk).unwrap();
            let filler = journal.filler();
            commit(&mut journal, 6);
            fill(&filler);
            // The sidecar is synced before the header.
            let passing = u64::from(operation == Operation::Sync);
            disk.fail_after(passing, operation, Cause::Broken);
            journal.append(1, &[b"in doubt"]);
            assert!(matches!(journal.commit(), Err(Error::Io(_))));
            assert!(matches!(filler.step(), Ok(false) | Err(Error::Poisoned)));
            drop(journal);
            let disk = disk.crash();
            let mut journal = open(&disk).unwrap();
            assert_eq!(journal.next_sequence(), 7);
            commit(&mut journal, 2);
            let found = read_all(&open(&disk.crash()).unwrap().reader(), &mut Random::new(1));
            assert_eq!(found.unwrap().len(), 8);
        }
    }
}

#[test]
fn a_failed_sync_of_what_was_written_ahead_stops_the_writer() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    let filler = journal.filler();
    commit(&mut journal, 1);
    disk.fail_after(0, Operation::Sync, Cause::Broken);
    assert!(matches!(filler.step(), Err(Error::Io(_))));
    journal.append(1, &[b"a"]);
    assert!(matches!(journal.commit(), Err(Error::Poisoned)));
    assert!(matches!(journal.close(), Err(Error::Poisoned)));
}

#[test]
fn a_disk_without_room_for_a_spare_gets_it_back_and_the_journal_goes_on() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    let filler = journal.filler();
    while length(&disk, &segments(&disk)[0]) < FILLED_BYTES {
        assert!(filler.step().unwrap());
    }
    disk.fail_after(3, Operation::Write, Cause::Full);
    for _ in 0..3 {
        assert!(filler.step().unwrap());
    }
    assert!(matches!(filler.step(), Err(Error::Io(_))));
    assert!(!disk.list().unwrap().contains(&"SPARE".to_owned()));
    assert!(!filler.step().unwrap(), "it is not tried again");
    commit(&mut journal, 20);
    journal.close().unwrap();
}

#[test]
fn memory_is_not_written_ahead() {
    let disk = CrashDisk::new(1);
    let journal = open_as(&disk, Durability::Memory).unwrap();
    assert!(!journal.filler().step().unwrap());
    assert_eq!(length(&disk, &segments(&disk)[0]), 64);
}

#[test]
fn a_spare_of_an_earlier_life_is_not_trusted() {
    let disk = CrashDisk::new(1);
    let mut journal = open(&disk).unwrap();
    fill(&journal.filler());
    commit(&mut journal, 6);
    drop(journal);
    let spare = disk.open("SPARE").unwrap();
    spare.write_at(&[7; 200], 300).unwrap();
    let mut journal = open(&disk).unwrap();
    assert!(!disk.list().unwrap().contains(&"SPARE".to_owned()));
    commit(&mut journal, 6);
    drop(journal);
    assert_eq!(open(&disk).unwrap().next_sequence(), 13);
}

#[test]
fn writing_ahead_and_committing_at_the_same_time_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let real = Arc::new(RealDisk::open(folder.path()).unwrap());
    for disk in [Arc::new(MemoryDisk::default()) as Arc<dyn Disk>, real] {
        let options = options(20_000, Durability::Fsync);
        let mut journal = Journal::open(Arc::clone(&disk), options.clone()).unwrap();
        let is_over = AtomicBool::new(false);
        let mut random = Random::new(1);
        let mut expected = Vec::new();
        std::thread::scope(|threads| {
            for _ in 0..2 {
                let filler = journal.filler();
                let is_over = &is_over;
                threads.spawn(move || {
                    while !is_over.load(Ordering::Acquire) {
                        filler.step().unwrap();
                    }
                });
            }
            for _ in 0..400 {
                for _ in 0..random.below(5) {
                    expected.push(crate::world::append(&mut journal, &mut random));
                }
                journal.commit().unwrap();
            }
            is_over.store(true, Ordering::Release);
        });
        let found = read_all(&journal.reader(), &mut random).unwrap();
        assert!(found == expected, "readers do not see what was written");
        drop(journal);
        let journal = Journal::open(Arc::clone(&disk), options).unwrap();
        assert!(journal.recovery().segments > 5);
        let found = read_all(&journal.reader(), &mut random).unwrap();
        assert!(
            found == expected,
            "a restart does not find what was written"
        );
    }
}
