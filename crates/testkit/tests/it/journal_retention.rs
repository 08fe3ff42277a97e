//! The oldest records go, whole segments at a time; readers are told and never shown anything else.

use crate::halting::stopped_everywhere;
use crate::world::options;
use interwire_testkit::{Cause, CrashDisk, Operation};
use journal::{
    CursorFault, Disk, Dropped, Durability, Error, Journal, MemoryDisk, Options, Reader, RealDisk,
};
use std::sync::Arc;

const LAST: u64 = 60;

fn open(disk: Arc<dyn Disk>) -> Result<Journal, Error> {
    Journal::open(disk, options(400, Durability::Fsync))
}

fn body(sequence: u64) -> Vec<u8> {
    vec![sequence.to_le_bytes()[0]; 50]
}

/// A journal of sixty records in many segments; record n is written at moment n.
fn grown(disk: Arc<dyn Disk>) -> Journal {
    let mut journal = open(disk).unwrap();
    for sequence in 1..=LAST {
        journal.append(1, &[&body(sequence)]);
        journal.set_now(i64::try_from(sequence).unwrap());
        journal.commit().unwrap();
    }
    journal
}

fn names(disk: &dyn Disk) -> Vec<String> {
    let mut names = disk.list().unwrap();
    names.retain(|name| name.ends_with(".seg") || name.ends_with(".idx"));
    names.sort();
    names
}

/// Every record that is kept is what was written; returns how many there are.
fn check_kept(reader: &Reader, place: &str) -> u64 {
    let (first, last) = reader.range();
    assert_eq!(last, LAST, "{place}");
    let mut next = first;
    while next <= last {
        for record in reader.read(next, 7, 500).unwrap() {
            assert_eq!(record.sequence, next, "{place}");
            assert_eq!(record.body, body(next), "{place}");
            next += 1;
        }
    }
    assert!(reader.read(next, 7, 500).unwrap().is_empty());
    last + 1 - first
}

#[test]
fn whole_closed_segments_below_the_sequence_go_and_nothing_else() {
    for sequence in 0..=LAST + 10 {
        let disk = Arc::new(MemoryDisk::default());
        let journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
        let reader = journal.reader();
        let before = reader.segments();
        let dropped = journal.drop_before(sequence).unwrap();
        let going: Vec<_> = before[..before.len() - 1]
            .iter()
            .filter(|segment| segment.last < sequence)
            .collect();
        let first = before[going.len()].first;
        assert_eq!(
            dropped,
            Dropped {
                records: first - 1,
                bytes: going.iter().map(|segment| segment.bytes).sum(),
                segments: going.len(),
            }
        );
        assert_eq!(reader.range(), (first, LAST));
        assert_eq!(reader.segments(), before[going.len()..]);
        check_kept(&reader, "before a restart");
        assert!(names(disk.as_ref())[0].starts_with(&format!("{first:020}")));
        assert_eq!(journal.drop_before(sequence).unwrap(), Dropped::default());
        drop(journal);
        let journal = open(disk).unwrap();
        assert_eq!(journal.reader().range(), (first, LAST));
        check_kept(&journal.reader(), "after a restart");
    }
}

#[test]
fn who_comes_too_late_is_told_from_where_records_are_kept() {
    let journal = grown(Arc::new(MemoryDisk::default()));
    let reader = journal.reader();
    let cursors: Vec<String> = (0..=LAST).map(|at| reader.cursor(at).to_string()).collect();
    journal.drop_before(30).unwrap();
    let (first, _) = reader.range();
    assert!(first > 20);
    for from in 1..=LAST {
        match reader.read(from, 1, 1) {
            Ok(records) => assert!(from >= first && records[0].sequence == from),
            Err(Error::Expired { first: named }) => assert!(named == first && from < first),
            Err(error) => panic!("{error}"),
        }
        let expected = match from + 1 < first {
            true => Err(CursorFault::Expired),
            false => Ok(from),
        };
        let cursor = &cursors[usize::try_from(from).unwrap()];
        assert_eq!(reader.resolve(cursor), expected);
    }
}

#[test]
fn segments_say_their_sizes_and_when_they_were_written() {
    let disk = Arc::new(MemoryDisk::default());
    let check = |journal: &Journal| {
        let segments = journal.reader().segments();
        assert!(segments.len() > 10);
        let mut next = 1;
        for segment in &segments {
            assert_eq!(segment.first, next);
            next = segment.last + 1;
            let records = segment.last + 1 - segment.first;
            assert_eq!(segment.bytes, 64 + records * (24 + 50));
            // The moment is told before the commit that begins the segment.
            let first = i64::try_from(segment.first).unwrap();
            assert!(segment.begun_ms <= first);
            assert!(segment.written_ms >= i64::try_from(segment.last).unwrap());
            assert!(segment.written_ms <= i64::try_from(segment.last).unwrap() + 1);
        }
        assert_eq!(next, LAST + 1);
    };
    let mut journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
    check(&journal);
    // A clock that steps back stands still.
    journal.set_now(3);
    check(&journal);
    drop(journal);
    let now_ms = i64::try_from(LAST).unwrap();
    check(&open_at(disk, now_ms));
}

fn open_at(disk: Arc<dyn Disk>, now_ms: i64) -> Journal {
    let options = Options {
        now_ms,
        ..options(400, Durability::Fsync)
    };
    Journal::open(disk, options).unwrap()
}

/// Wherever the clock stands when a life begins, no segment looks younger afterwards than it looked
/// before, none looks older than time has passed, and all get older.
#[test]
fn ages_only_grow_and_only_with_time_wherever_the_clock_is_set_between_lives() {
    let disk = Arc::new(MemoryDisk::default());
    drop(grown(Arc::clone(&disk) as Arc<dyn Disk>));
    let mut next = LAST + 1;
    // Two hours back, back to the beginning of all clocks, a little less far, and as it was at first.
    for start in [-7_200_000, i64::MIN / 2, -50, 60] {
        let mut journal = open_at(Arc::clone(&disk) as Arc<dyn Disk>, start);
        let reader = journal.reader();
        let ages = |now_ms| -> Vec<i64> {
            let segments = reader.segments();
            let (_, closed) = segments.split_last().unwrap();
            let time_ms = reader.time_at(now_ms);
            closed.iter().map(|one| time_ms - one.written_ms).collect()
        };
        let before = ages(start);
        assert!(
            before.iter().all(|age| (0..=1_000).contains(age)),
            "{start}: {before:?}"
        );
        for passed in 1..=40 {
            journal.append(1, &[&body(next)]);
            next += 1;
            journal.set_now(start + passed);
            journal.commit().unwrap();
            let after = ages(start + passed);
            let grown = after
                .iter()
                .zip(&before)
                .map(|(after, before)| after - before);
            assert!(grown.into_iter().all(|grown| grown == passed), "{start}");
            assert!(after.iter().all(|age| *age >= 0), "{start}: {after:?}");
        }
        let segments = reader.segments();
        assert!(segments.iter().all(|one| one.begun_ms <= one.written_ms));
        assert!(segments.is_sorted_by_key(|one| one.written_ms));
    }
    // When the clock is ahead of every stamp it counts again, and with it the time between lives.
    let journal = open_at(disk, 10_000);
    assert_eq!(journal.reader().time_at(10_000), 10_000);
}

#[test]
fn an_empty_journal_and_one_of_a_single_segment_keep_what_they_have() {
    let mut journal = open(Arc::new(MemoryDisk::default())).unwrap();
    assert_eq!(journal.drop_before(u64::MAX).unwrap(), Dropped::default());
    assert_eq!(journal.reader().segments()[0].last, 0);
    journal.append(1, &[b"a"]);
    journal.commit().unwrap();
    assert_eq!(journal.drop_before(u64::MAX).unwrap(), Dropped::default());
    assert_eq!(journal.reader().range(), (1, 1));
}

#[test]
fn the_journal_goes_on_after_everything_old_was_dropped() {
    let disk = Arc::new(MemoryDisk::default());
    let mut journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
    for life in 0..5 {
        journal.drop_before(u64::MAX).unwrap();
        assert_eq!(journal.reader().segments().len(), 1, "life {life}");
        for _ in 0..20 {
            let sequence = journal.append(1, &[b"more"]);
            journal.commit().unwrap();
            assert_eq!(journal.reader().read(sequence, 1, 1).unwrap().len(), 1);
        }
        match life % 2 {
            0 => drop(journal),
            _ => journal.close().unwrap(),
        }
        journal = open(Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
        assert_eq!(journal.recovery().rescanned, 0);
    }
}

#[test]
fn stopped_at_any_change_the_records_are_there_or_dropped_and_no_file_is_left_over() {
    stopped_everywhere(
        0..12,
        |disk| drop(grown(Arc::new(disk.clone()))),
        |halting| {
            let journal = open(Arc::new(halting.clone())).unwrap();
            let before = journal.reader().range();
            halting.begin();
            let dropped = journal.drop_before(30);
            let after = journal.reader().range();
            assert!(dropped.is_ok() <= (after.0 > before.0));
            (dropped.is_ok(), after)
        },
        |(is_dropped, _)| *is_dropped,
        |disk, (is_dropped, shown), place| {
            let journal = open(Arc::new(disk.clone())).unwrap();
            let range = journal.reader().range();
            assert!(range.0 >= shown.0, "{place}: dropped records came back");
            assert!(range.0 == 1 || range.0 > 20, "{place}: {range:?}");
            assert!(!is_dropped || range == *shown, "{place}");
            check_kept(&journal.reader(), place);
            for name in names(&disk) {
                assert!(name >= format!("{:020}", range.0), "{place}: {name}");
            }
            drop(journal);
            let again = open(Arc::new(disk.crash())).unwrap();
            assert_eq!(again.reader().range(), range, "{place}");
            check_kept(&again.reader(), place);
        },
    );
}

#[test]
fn whichever_operation_fails_asking_again_finishes_it() {
    for operation in [
        Operation::Create,
        Operation::Write,
        Operation::Sync,
        Operation::Rename,
        Operation::SyncFolder,
        Operation::Remove,
    ] {
        for passing in 0..3 {
            let disk = CrashDisk::new(passing);
            let mut journal = grown(Arc::new(disk.clone()));
            disk.fail_after(passing, operation, Cause::Broken);
            let dropped = journal.drop_before(30);
            disk.clear_faults();
            check_kept(&journal.reader(), "after a failure");
            journal.drop_before(30).unwrap();
            let (first, _) = journal.reader().range();
            assert!(first > 20);
            assert!(
                names(&disk)[0].starts_with(&format!("{first:020}")),
                "{dropped:?}"
            );
            journal.append(1, &[&body(LAST + 1)]);
            journal.commit().unwrap();
        }
    }
}

#[test]
fn a_journal_whose_first_kept_segment_is_gone_is_refused() {
    for is_closed in [false, true] {
        let disk = Arc::new(MemoryDisk::default());
        let journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
        journal.drop_before(30).unwrap();
        if is_closed {
            journal.close().unwrap();
        } else {
            drop(journal);
        }
        let mut segments = names(disk.as_ref());
        segments.retain(|name| name.ends_with(".seg"));
        for name in segments {
            disk.remove(&name).unwrap();
            assert!(matches!(
                open(Arc::clone(&disk) as Arc<dyn Disk>),
                Err(Error::Corrupt { .. })
            ));
        }
    }
}

#[test]
fn nothing_is_dropped_after_the_end_or_after_a_failure() {
    let disk = CrashDisk::new(1);
    let journal = grown(Arc::new(disk.clone()));
    let retention = journal.retention();
    journal.close().unwrap();
    let before = names(&disk).len();
    assert_eq!(retention.drop_before(30).unwrap(), Dropped::default());
    let mut journal = open(Arc::new(disk.clone())).unwrap();
    disk.fail_after(0, Operation::Sync, Cause::Broken);
    journal.append(1, &[b"lost"]);
    journal.commit().unwrap_err();
    assert!(matches!(journal.drop_before(30), Err(Error::Poisoned)));
    assert!(names(&disk).len() >= before);
}

#[test]
fn readers_and_the_writer_go_on_while_records_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let real = Arc::new(RealDisk::open(folder.path()).unwrap());
    for disk in [Arc::new(MemoryDisk::default()) as Arc<dyn Disk>, real] {
        let mut journal = open(disk).unwrap();
        let retention = journal.retention();
        let readers = [journal.reader(), journal.reader()];
        std::thread::scope(|threads| {
            for reader in readers {
                threads.spawn(move || {
                    let (mut next, mut expired) = (1, 0);
                    while next <= 600 {
                        match reader.read(next, 5, 300) {
                            Ok(records) => {
                                for record in records {
                                    assert_eq!(record.sequence, next);
                                    assert_eq!(record.body, body(next));
                                    next += 1;
                                }
                            }
                            Err(Error::Expired { first }) => {
                                assert!(first > next);
                                next = first;
                                expired += 1;
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                    expired
                });
            }
            let reader = journal.reader();
            threads.spawn(move || {
                let mut before = 0;
                while before < 560 {
                    let last = reader.range().1;
                    if last < before + 20 {
                        std::thread::yield_now();
                        continue;
                    }
                    before = last;
                    retention.drop_before(before - 20).unwrap();
                }
            });
            for sequence in 1..=600 {
                journal.append(1, &[&body(sequence)]);
                journal.commit().unwrap();
            }
        });
        assert!(journal.reader().range().0 > 1);
    }
}
