//! Deep verification finds every changed byte, says where, and touches nothing.

use crate::files::{self, Files, put, take};
use crate::halting::Over;
use crate::world::{LINEAGE, options};
use journal::{
    Checkpoint, Disk, Durability, Eyes, Finding, Journal, KeyEntry, Keys, MemoryDisk, Record,
    Verified, frame, verify,
};
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 400;
const LAST: u64 = 30;

fn open(disk: Arc<MemoryDisk>) -> Journal {
    Journal::open(disk, options(SEGMENT_BYTES, Durability::Fsync)).unwrap()
}

/// Several segments, two checkpoints, dropped records.
fn grown(is_closed: bool) -> Files {
    let disk = Arc::new(MemoryDisk::default());
    let mut journal = open(Arc::clone(&disk));
    while journal.next_sequence() <= LAST {
        for _ in 0..2 {
            let sequence = journal.next_sequence();
            journal.append(1, &[&body(sequence)]);
        }
        journal.commit().unwrap();
    }
    journal.checkpoints().write(14, &[7]).unwrap();
    journal.checkpoints().write(22, &[7; 300]).unwrap();
    let key = |sequence: u64| KeyEntry {
        key: [sequence.to_le_bytes()[0]; 16],
        sequence,
        value: [1; 16],
    };
    let to = Arc::clone(&disk) as Arc<dyn Disk>;
    let keys = Keys::open(to, LINEAGE, (1, LAST), 10, 1 << 20).unwrap();
    keys.add(1, LAST, (1..=LAST).map(key).collect()).unwrap();
    journal.drop_before(14).unwrap();
    if is_closed {
        journal.close().unwrap();
    }
    take(disk.as_ref())
}

fn body(sequence: u64) -> Vec<u8> {
    vec![sequence.to_le_bytes()[0] ^ 0x5a; usize::try_from(sequence * 13 % 60).unwrap()]
}

fn check_body(record: &Record) -> Option<String> {
    let is_right = record.body == body(record.sequence);
    (!is_right).then(|| "another body".to_owned())
}

/// Those who can read what is written here.
macro_rules! eyes {
    () => {
        Eyes {
            record: &mut check_body,
            state: &mut check_state,
        }
    };
}

fn check_state(checkpoint: &Checkpoint) -> Option<String> {
    let is_right = checkpoint.body.starts_with(&[7]);
    (!is_right).then(|| "another state".to_owned())
}

fn look(files: &Files) -> (Verified, Vec<Finding>) {
    let disk = put(files);
    let mut findings = Vec::new();
    let verified = verify(disk.as_ref(), eyes!(), &mut |finding| {
        findings.push(finding);
    });
    assert_eq!(take(disk.as_ref()), *files, "a check changes nothing");
    (verified.unwrap(), findings)
}

fn segments(files: &Files) -> Vec<String> {
    let names = files.keys().filter(|name| name.ends_with(".seg"));
    names.cloned().collect()
}

/// Where each record of a segment begins, and its sequence.
fn starts(bytes: &[u8]) -> Vec<(u64, u64)> {
    let (mut at, mut starts) = (64, Vec::new());
    while let frame::Scan::Whole(found) = frame::scan(&bytes[at..], frame::key(LINEAGE)) {
        starts.push((at as u64, found.sequence));
        at += found.bytes();
    }
    starts
}

#[test]
fn a_sound_folder_is_counted_and_nothing_is_said() {
    for is_closed in [false, true] {
        let files = grown(is_closed);
        let (verified, findings) = look(&files);
        assert_eq!(findings, []);
        let first: u64 = segments(&files)[0][..20].parse().unwrap();
        assert!(first > 5);
        assert_eq!(
            verified,
            Verified {
                lineage: LINEAGE,
                epoch: 1,
                first,
                last: LAST,
                records: LAST + 1 - first,
                bytes: segments(&files)
                    .iter()
                    .map(|name| files[name].len() as u64)
                    .sum(),
                segments: segments(&files).len(),
                checkpoints: 2,
            }
        );
    }
}

#[test]
fn every_flipped_byte_is_found_in_its_file_at_or_before_its_place() {
    let files = grown(true);
    for (name, bytes) in &files {
        for at in 0..bytes.len() {
            let mut damaged = files.clone();
            damaged.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            if name == "MANIFEST" {
                files::look(put(&damaged).as_ref()).unwrap_err();
                continue;
            }
            let (_, findings) = look(&damaged);
            let first = &findings[0];
            let place = format!("{name} at {at}: {findings:?}");
            assert!(first.is_damage, "{place}");
            assert_eq!(&first.file, name, "{place}");
            assert!(first.offset <= at as u64, "{place}");
            if !name.ends_with(".seg") {
                continue;
            }
            let Some((start, sequence)) = starts(bytes)
                .into_iter()
                .rev()
                .find(|(start, _)| *start <= at as u64)
            else {
                continue;
            };
            assert_eq!(
                (first.offset, first.sequence),
                (start, Some(sequence)),
                "{place}"
            );
        }
    }
}

#[test]
fn all_damage_is_found_not_only_the_first() {
    let mut files = grown(true);
    let mut expected = Vec::new();
    for name in segments(&files) {
        let starts = starts(&files[&name]);
        for (start, sequence) in starts.iter().skip(1).step_by(3) {
            let at = usize::try_from(*start).unwrap();
            files.get_mut(&name).unwrap()[at + 4] ^= 1;
            expected.push((name.clone(), *start, *sequence));
        }
    }
    assert!(expected.len() >= 3);
    let (verified, findings) = look(&files);
    let mut found: Vec<_> = findings
        .iter()
        .filter(|finding| finding.file.ends_with(".seg"))
        .map(|finding| {
            (
                finding.file.clone(),
                finding.offset,
                finding.sequence.unwrap(),
            )
        })
        .collect();
    // The last record of all is missing once more.
    found.truncate(expected.len());
    assert_eq!(found, expected);
    let records = LAST + 1 - verified.first;
    assert_eq!(verified.records, records - expected.len() as u64);
    assert!(
        findings[0]
            .what
            .contains(&format!("record {} is lost", expected[0].2))
    );
}

#[test]
fn missing_files_are_found() {
    let files = grown(true);
    for name in files.keys().filter(|name| *name != "MANIFEST") {
        let mut fewer = files.clone();
        fewer.remove(name);
        let (verified, findings) = look(&fewer);
        if name.ends_with(".keys") {
            // They can be made again.
            assert_eq!(findings, []);
            continue;
        }
        if name.ends_with(".ckp") {
            assert_eq!((verified.checkpoints, findings.len()), (1, 0));
            continue;
        }
        let is_sidecar = name.ends_with(".idx");
        assert_eq!(findings[0].is_damage, !is_sidecar, "{findings:?}");
        if is_sidecar {
            assert_eq!(&findings[0].file, name);
        }
    }
    files::look(&MemoryDisk::default()).unwrap_err();
}

#[test]
fn a_cut_tail_is_damage_after_a_close_and_otherwise_a_torn_batch() {
    for is_closed in [false, true] {
        let files = grown(is_closed);
        let name = segments(&files).pop().unwrap();
        let (start, sequence) = starts(&files[&name]).pop().unwrap();
        let mut cut = files.clone();
        cut.get_mut(&name).unwrap().pop();
        let (verified, findings) = look(&cut);
        assert_eq!(verified.last, sequence - 1);
        assert_eq!(findings[0].is_damage, is_closed);
        assert_eq!((&findings[0].file, findings[0].offset), (&name, start));
    }
}

#[test]
fn space_written_ahead_is_nothing_to_speak_of_unless_records_were_there() {
    let files = grown(true);
    for name in segments(&files) {
        let mut ahead = files.clone();
        ahead.get_mut(&name).unwrap().extend_from_slice(&[0; 100]);
        let (verified, findings) = look(&ahead);
        assert_eq!(verified.last, LAST);
        assert!(
            findings.iter().all(|finding| !finding.is_damage),
            "{findings:?}"
        );
        let bytes = ahead.get_mut(&name).unwrap();
        let (start, _) = starts(bytes).pop().unwrap();
        bytes[usize::try_from(start).unwrap()..].fill(0);
        let (_, findings) = look(&ahead);
        assert!(findings[0].is_damage);
        assert_eq!((&findings[0].file, findings[0].offset), (&name, start));
    }
}

#[test]
fn a_record_that_forgets_what_was_durable_is_found() {
    let disk = Arc::new(MemoryDisk::default());
    let mut journal = open(Arc::clone(&disk));
    for _ in 0..3 {
        journal.append(1, &[&body(journal.next_sequence())]);
        journal.commit().unwrap();
    }
    drop(journal);
    let mut files = take(disk.as_ref());
    let name = segments(&files).pop().unwrap();
    let mut forged = Vec::new();
    // Says that nothing was durable, although the one before says that two records were.
    frame::write(&mut forged, frame::key(LINEAGE), 4, 4, 1, &[&body(4)]);
    let bytes = files.get_mut(&name).unwrap();
    let at = bytes.len() as u64;
    bytes.extend_from_slice(&forged);
    let (_, findings) = look(&files);
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].offset, findings[0].sequence), (at, Some(4)));
    assert!(findings[0].what.contains("to be durable before it"));
}

#[test]
fn a_body_that_means_nothing_is_named_by_who_can_read_it() {
    let disk = Arc::new(MemoryDisk::default());
    let mut journal = open(Arc::clone(&disk));
    for body in [body(1), b"nonsense".to_vec(), body(3)] {
        journal.append(1, &[&body]);
        journal.commit().unwrap();
    }
    let (verified, findings) = look(&take(disk.as_ref()));
    assert_eq!((verified.records, findings.len()), (3, 1));
    assert_eq!(findings[0].sequence, Some(2));
    assert_eq!(findings[0].what, "another body");
}

#[test]
fn a_state_that_means_nothing_is_named_too() {
    let disk = Arc::new(MemoryDisk::default());
    let mut journal = open(Arc::clone(&disk));
    journal.append(1, &[&body(1)]);
    journal.commit().unwrap();
    journal.checkpoints().write(1, b"nonsense").unwrap();
    let (verified, findings) = look(&take(disk.as_ref()));
    assert_eq!((verified.checkpoints, findings.len()), (1, 1));
    assert!(findings[0].is_damage && findings[0].file.ends_with(".ckp"));
    assert_eq!(findings[0].what, "another state");
}

#[test]
fn a_journal_in_use_is_sound_at_every_moment() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(journal::RealDisk::open(folder.path()).unwrap());
    let options = options(4_000, Durability::Fsync);
    let mut journal = Journal::open(Arc::clone(&disk) as Arc<dyn Disk>, options).unwrap();
    let (checkpoints, reader) = (journal.checkpoints(), journal.reader());
    let (retention, filler) = (journal.retention(), journal.filler());
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Acquire;
    std::thread::scope(|threads| {
        let checks = threads.spawn(|| {
            let mut checks = 0;
            while !is_over.load(order) {
                let acknowledged = reader.range().1;
                let read_only = journal::RealDisk::read_only(folder.path()).unwrap();
                let verified = verify(&read_only, eyes!(), &mut |finding| {
                    assert!(!finding.is_damage, "{finding:?}");
                })
                .unwrap();
                // What was dropped meanwhile need not be looked at.
                assert!(verified.last >= acknowledged || reader.range().0 > verified.last);
                checks += 1;
            }
            checks
        });
        threads.spawn(|| {
            while !is_over.load(order) {
                filler.step().unwrap();
            }
        });
        threads.spawn(|| {
            let mut before = 0;
            while !is_over.load(order) {
                let last = reader.range().1;
                if last < before + 100 {
                    std::thread::yield_now();
                    continue;
                }
                checkpoints.write(last, &[7; 5_000]).unwrap();
                retention.drop_before(before).unwrap();
                before = last;
            }
        });
        let over = Over(&is_over);
        let mut sequence = 1;
        while sequence < 5_000 {
            for _ in 0..sequence % 7 {
                journal.append(1, &[&body(sequence)]);
                sequence += 1;
            }
            journal.commit().unwrap();
            sequence = journal.append(1, &[&body(sequence)]) + 1;
        }
        journal.commit().unwrap();
        drop(over);
        println!("{} checks", checks.join().unwrap());
    });
}
