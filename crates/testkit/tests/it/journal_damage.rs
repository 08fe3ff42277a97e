//! Bytes that are not what was written: a torn tail is cut, everything else is named.

use crate::files::{Files, put, take};
use crate::world::{Kept, LINEAGE, options};
use journal::{Disk, Durability, Error, Journal, MemoryDisk, frame};
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 400;

fn open(disk: Arc<MemoryDisk>) -> Result<Journal, Error> {
    Journal::open(disk, options(SEGMENT_BYTES, Durability::Fsync))
}

fn body(sequence: u64) -> Vec<u8> {
    let len = usize::try_from(sequence * 13 % 60).unwrap();
    vec![sequence.to_le_bytes()[0] ^ 0x5a; len]
}

/// Commits `batches` of three records each.
fn grow(journal: &mut Journal, batches: u64) {
    for _ in 0..batches {
        for _ in 0..3 {
            let body = body(journal.next_sequence());
            journal.append(1, &[&body]);
        }
        journal.commit().unwrap();
    }
}

/// The files of a journal of several segments, as a kill or as a close leaves them.
fn grown(is_closed: bool) -> Files {
    let disk = Arc::new(MemoryDisk::default());
    let mut journal = open(Arc::clone(&disk)).unwrap();
    grow(&mut journal, 9);
    if is_closed {
        journal.close().unwrap();
    }
    let files = take(disk.as_ref());
    assert!(segments(&files).len() >= 3, "{:?}", files.keys());
    files
}

fn segments(files: &Files) -> Vec<String> {
    files
        .keys()
        .filter(|name| name.ends_with(".seg"))
        .cloned()
        .collect()
}

/// Where each record of a segment begins, and its sequence.
fn starts(bytes: &[u8]) -> Vec<(usize, u64)> {
    let (mut at, mut starts) = (64, Vec::new());
    while let frame::Scan::Whole(found) = frame::scan(&bytes[at..], frame::key(LINEAGE)) {
        starts.push((at, found.sequence));
        at += found.bytes();
    }
    assert_eq!(at, bytes.len());
    starts
}

/// Reads from every place there is. Each must give what was written or an error; returns the errors.
fn read_everywhere(journal: &Journal) -> Vec<Error> {
    let reader = journal.reader();
    let last = reader.range().1;
    let mut errors = Vec::new();
    for from in 1..=last {
        for (records_max, bytes_max) in [(1, 1), (4, 50), (1_000, 1 << 20)] {
            match reader.read(from, records_max, bytes_max) {
                Ok(records) => {
                    assert!(
                        !records.is_empty(),
                        "record {from} of {last} is silently gone"
                    );
                    for (record, expected) in records.iter().zip(from..) {
                        assert_eq!(record.sequence, expected);
                        assert_eq!(record.body, body(expected), "record {expected}");
                    }
                }
                Err(error) => errors.push(error),
            }
        }
    }
    errors
}

/// The error names this segment, and the header or record in it that holds the damage.
fn assert_named(error: &Error, files: &Files, name: &str, damaged_at: usize) {
    match error {
        Error::Corrupt {
            segment, offset, ..
        } => {
            let begin = match name.ends_with(".seg") && damaged_at >= 64 {
                true => {
                    let starts = starts(&files[name]);
                    starts[starts.partition_point(|(start, _)| *start <= damaged_at) - 1].0
                }
                false => 0,
            };
            assert_eq!(
                (segment.as_str(), *offset),
                (name, begin as u64),
                "damaged at {damaged_at}"
            );
        }
        other => panic!("expected {name} at {damaged_at}, got {other}"),
    }
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_and_the_journal_goes_on() {
    let files = grown(false);
    let name = segments(&files).pop().unwrap();
    let (last_start, last) = *starts(&files[&name]).last().unwrap();
    for end in last_start..files[&name].len() {
        for (filler, ahead) in [
            (None, 0),
            (Some(0), 0),
            (Some(0xff), 0),
            (None, 700),
            (Some(0xff), 700),
        ] {
            let mut torn = files.clone();
            let bytes = torn.get_mut(&name).unwrap();
            match filler {
                None => bytes.truncate(end),
                Some(filler) => bytes[end..].fill(filler),
            }
            if *bytes == files[&name] {
                continue;
            }
            bytes.resize(bytes.len() + ahead, 0);
            let is_all_zeros = bytes[last_start..].iter().all(|byte| *byte == 0);
            let disk = put(&torn);
            let mut journal = open(Arc::clone(&disk)).unwrap();
            // Zeros alone are space that was written ahead.
            let cut = match is_all_zeros {
                true => 0,
                false => torn[&name].len() - last_start,
            };
            assert_eq!(journal.recovery().cut_bytes, cut as u64, "torn at {end}");
            assert_eq!(journal.next_sequence(), last);
            grow(&mut journal, 2);
            drop(journal);
            let journal = open(disk).unwrap();
            assert_eq!(journal.reader().range().1, last + 5);
            assert!(read_everywhere(&journal).is_empty());
        }
    }
}

#[test]
fn any_flipped_byte_of_a_segment_is_named_or_is_the_tail_that_a_crash_could_tear() {
    let files = grown(false);
    let names = segments(&files);
    let tail = names.last().unwrap();
    // Nothing written later says that the last batch of three was durable.
    let proven = starts(&files[tail]).iter().rev().nth(2).unwrap().0;
    let last = starts(&files[tail]).last().unwrap().1;
    for (with_sidecars, ahead) in [(true, 0), (false, 0), (true, 700)] {
        for name in &names {
            for at in 0..files[name].len() {
                let mut damaged = files.clone();
                damaged.retain(|name, _| with_sidecars || !name.ends_with(".idx"));
                damaged.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
                let ends = damaged.get_mut(tail).unwrap();
                ends.resize(ends.len() + ahead, 0);
                match open(put(&damaged)) {
                    Err(error) => assert_named(&error, &files, name, at),
                    Ok(journal) if name == tail && at >= proven => {
                        assert!(journal.reader().range().1 >= last - 3);
                        assert!(read_everywhere(&journal).is_empty());
                    }
                    Ok(journal) => {
                        assert_eq!(journal.reader().range(), (1, last));
                        let errors = read_everywhere(&journal);
                        assert!(!errors.is_empty(), "{name} at {at} was not noticed");
                        for error in errors {
                            assert_named(&error, &files, name, at);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn after_a_clean_close_no_byte_of_the_tail_may_differ_and_none_be_missing() {
    let files = grown(true);
    let name = segments(&files).pop().unwrap();
    for at in 0..files[&name].len() {
        let mut flipped = files.clone();
        flipped.get_mut(&name).unwrap()[at] ^= 0x10;
        let disk = put(&flipped);
        for _ in 0..2 {
            assert_named(&open(Arc::clone(&disk)).unwrap_err(), &files, &name, at);
        }
        let mut cut = files.clone();
        cut.get_mut(&name).unwrap().truncate(at);
        assert_named(&open(put(&cut)).unwrap_err(), &files, &name, at);
    }
    assert!(read_everywhere(&open(put(&files)).unwrap()).is_empty());
}

#[test]
fn a_missing_segment_is_noticed() {
    let files = grown(true);
    for name in segments(&files) {
        let mut fewer = files.clone();
        fewer.remove(&name);
        assert!(
            matches!(open(put(&fewer)), Err(Error::Corrupt { .. })),
            "{name}"
        );
    }
}

#[test]
fn a_damaged_manifest_is_named_and_a_damaged_sidecar_costs_nothing() {
    let files = grown(false);
    for (name, bytes) in &files {
        for at in 0..bytes.len() {
            let mut damaged = files.clone();
            damaged.get_mut(name).unwrap()[at] ^= 0x81;
            if name == "MANIFEST" {
                assert_named(&open(put(&damaged)).unwrap_err(), &files, name, at);
            } else if name.ends_with(".idx") {
                assert!(read_everywhere(&open(put(&damaged)).unwrap()).is_empty());
            }
        }
    }
}

#[test]
fn a_record_inside_a_body_is_no_record() {
    // A torn record whose body holds what looks like a later record that was written after a sync.
    // Taken for one, it would turn every loss of power into a refusal to start.
    for key in [0, frame::key(0), frame::key(LINEAGE & 0xffff_ffff)] {
        let disk = Arc::new(MemoryDisk::default());
        let mut journal = open(Arc::clone(&disk)).unwrap();
        grow(&mut journal, 1);
        let mut forged = Vec::new();
        frame::write(&mut forged, key, 9, 1, 1, &[b"forged"]);
        journal.append(1, &[&forged, b"the end"]);
        journal.commit().unwrap();
        let mut files = take(disk.as_ref());
        let name = segments(&files).pop().unwrap();
        let bytes = files.get_mut(&name).unwrap();
        let end = bytes.len() - 1;
        bytes.truncate(end);
        assert_eq!(open(put(&files)).unwrap().next_sequence(), 4);
        let saved = Arc::new(MemoryDisk::default());
        let to = Arc::clone(&saved) as Arc<dyn Disk>;
        let counts = journal::salvage(put(&files).as_ref(), to, options(400, Durability::Fsync));
        assert_eq!(counts.unwrap(), (3, 0));
    }
}

#[test]
fn salvage_keeps_all_but_the_damaged_record_at_its_place() {
    let files = grown(false);
    for name in segments(&files) {
        for (at, lost) in starts(&files[&name]) {
            for manifest in [true, false] {
                let mut damaged = files.clone();
                damaged.get_mut(&name).unwrap()[at + 4] ^= 1;
                damaged.retain(|name, _| manifest || name != "MANIFEST");
                let saved = Arc::new(MemoryDisk::default());
                let to = Arc::clone(&saved) as Arc<dyn Disk>;
                let from = put(&damaged);
                let options = options(SEGMENT_BYTES, Durability::Fsync);
                let (copied, missing) = journal::salvage(from.as_ref(), to, options).unwrap();
                // The last record of all leaves no trace.
                assert_eq!((copied, missing), (26, u64::from(lost != 27)));
                let journal = open(saved).unwrap();
                assert_eq!(journal.reader().cursor(0).lineage, LINEAGE);
                assert_eq!(journal.reader().cursor(0).epoch, 2);
                let found = journal.reader().read(1, 100, 1 << 20).unwrap();
                for record in &found {
                    let kept: Kept = (record.kind, record.body.to_vec());
                    let expected = match record.sequence == lost {
                        true => (journal::LOST, Vec::new()),
                        false => (1, body(record.sequence)),
                    };
                    assert_eq!(kept, expected, "record {}", record.sequence);
                }
            }
        }
    }
}
