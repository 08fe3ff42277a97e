use super::{FAN_IN, KeyEntry, Keys, writer};
use crate::{Disk, Error, MemoryDisk};
use std::collections::BTreeMap;
use std::sync::Arc;

const UNIT: u64 = 100;

fn key(n: u64) -> [u8; 16] {
    let mix = |n: u64| {
        let n = (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mix(n + 1).to_be_bytes());
    key[8..].copy_from_slice(&mix(mix(n + 7)).to_be_bytes());
    key
}

fn entry(n: u64, sequence: u64) -> KeyEntry {
    KeyEntry {
        key: key(n),
        sequence,
        value: [sequence as u8; 16],
    }
}

fn open(disk: &Arc<MemoryDisk>, range: (u64, u64), filter_bytes_max: u64) -> Keys {
    let disk = Arc::clone(disk) as Arc<dyn Disk>;
    Keys::open(disk, 7, range, UNIT, filter_bytes_max).unwrap()
}

/// Key `n` is taken by record `n`, in files of `UNIT`.
fn filled(disk: &Arc<MemoryDisk>, files: u64) -> Keys {
    let keys = open(disk, (1, 0), u64::MAX);
    for file in 0..files {
        let (first, last) = (file * UNIT + 1, (file + 1) * UNIT);
        let entries = (first..=last).rev().map(|n| entry(n, n)).collect();
        keys.add(first, last, entries).unwrap();
    }
    keys
}

fn names(disk: &MemoryDisk) -> Vec<String> {
    disk.list().unwrap()
}

#[test]
fn every_key_is_found_and_no_other_with_filters_in_memory_or_in_the_file() {
    for filter_bytes_max in [u64::MAX, 0, 200] {
        let disk = Arc::new(MemoryDisk::default());
        drop(filled(&disk, 5));
        let keys = open(&disk, (1, 500), filter_bytes_max);
        assert_eq!(keys.removed(), []);
        let reader = keys.reader();
        for n in 1..=500 {
            assert_eq!(reader.find(&key(n), 1).unwrap(), Some(entry(n, n)));
        }
        assert!((501..3_000).all(|n| reader.find(&key(n), 1).unwrap().is_none()));
        assert_eq!(reader.covered(1), 500);
        assert!(reader.sizes().2 <= filter_bytes_max);
    }
}

#[test]
fn keys_that_do_not_spread_are_found_all_the_same() {
    let disk = Arc::new(MemoryDisk::default());
    let keys = open(&disk, (1, 0), u64::MAX);
    let crowded = |n: u64| {
        let mut key = [0; 16];
        key[12..].copy_from_slice(&(n as u32).to_be_bytes());
        key
    };
    let entries = (1..=1_000).map(|n| KeyEntry {
        key: crowded(n),
        ..entry(n, n)
    });
    keys.add(1, 1_000, entries.collect()).unwrap();
    let reader = keys.reader();
    for n in 1..=1_000 {
        let found = reader.find(&crowded(n), 1).unwrap();
        assert_eq!(found.map(|entry| entry.sequence), Some(n));
    }
    assert_eq!(reader.find(&crowded(1_001), 1).unwrap(), None);
    assert_eq!(reader.find(&[0xff; 16], 1).unwrap(), None);
}

#[test]
fn merging_keeps_look_ups_few_and_every_answer() {
    let disk = Arc::new(MemoryDisk::default());
    let keys = open(&disk, (1, 0), u64::MAX);
    for file in 0..70 {
        let (first, last) = (file * UNIT + 1, (file + 1) * UNIT);
        let entries = (first..=last).map(|n| entry(n, n)).collect();
        keys.add(first, last, entries).unwrap();
        while keys.tidy(1, &mut || {}).unwrap() {}
        assert!(keys.reader().sizes().0 < 2 * FAN_IN);
    }
    assert_eq!(names(&disk).len(), keys.reader().sizes().0, "old files go");
    let keys = open(&disk, (1, 7_000), u64::MAX);
    let reader = keys.reader();
    assert_eq!((reader.covered(1), keys.missing(1, 7_000)), (7_000, vec![]));
    for n in 1..=7_000 {
        assert_eq!(reader.find(&key(n), 1).unwrap(), Some(entry(n, n)), "{n}");
    }
    assert!((7_001..9_000).all(|n| reader.find(&key(n), 1).unwrap().is_none()));
}

#[test]
fn a_key_taken_again_after_its_first_record_went_is_the_newer_one() {
    let disk = Arc::new(MemoryDisk::default());
    let keys = open(&disk, (1, 0), u64::MAX);
    keys.add(1, 10, vec![entry(5, 3), entry(6, 4)]).unwrap();
    keys.add(11, 20, vec![entry(5, 15)]).unwrap();
    let find = |n, keep_from| {
        let found = keys.reader().find(&key(n), keep_from).unwrap();
        found.map(|entry| entry.sequence)
    };
    assert_eq!(
        (find(5, 1), find(6, 1), find(6, 5)),
        (Some(15), Some(4), None)
    );
    for file in 2..12 {
        keys.add(file * 10 + 1, file * 10 + 10, Vec::new()).unwrap();
    }
    while keys.tidy(1, &mut || {}).unwrap() {}
    assert_eq!((find(5, 1), find(6, 1)), (Some(15), Some(4)));
    let sealed = writer::seal(disk.as_ref(), 7, (1, 9), vec![entry(1, 2), entry(1, 9)]).unwrap();
    assert_eq!(sealed.find(&key(1)).unwrap(), Some(entry(1, 9)));
}

#[test]
fn what_is_no_longer_kept_goes_and_a_file_half_gone_is_made_smaller() {
    let disk = Arc::new(MemoryDisk::default());
    let keys = filled(&disk, 4);
    while keys.tidy(101, &mut || {}).unwrap() {}
    assert_eq!(keys.reader().sizes(), (3, 300, keys.reader().sizes().2));
    while keys.tidy(161, &mut || {}).unwrap() {}
    assert_eq!(keys.reader().sizes().1, 240);
    assert_eq!(keys.reader().covered(161), 400);
    assert_eq!(keys.reader().find(&key(150), 161).unwrap(), None);
    assert_eq!(
        keys.reader().find(&key(161), 161).unwrap(),
        Some(entry(161, 161))
    );
    let again = open(&disk, (161, 400), u64::MAX);
    assert_eq!(
        (again.removed().len(), again.reader().covered(161)),
        (0, 400)
    );
}

#[test]
fn files_about_records_that_are_not_there_are_removed_and_their_absence_is_named() {
    let disk = Arc::new(MemoryDisk::default());
    drop(filled(&disk, 4));
    // A crash lost the records from 350 on, retention those before 120.
    let keys = open(&disk, (120, 349), u64::MAX);
    let reasons: Vec<_> = keys
        .removed()
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(
        reasons,
        [writer::name_of(1, 100), writer::name_of(301, 400)]
    );
    assert_eq!(keys.reader().covered(120), 300);
    assert_eq!(keys.missing(120, 349), [(301, 349)]);
    keys.add(301, 349, Vec::new()).unwrap();
    assert_eq!(
        (keys.reader().covered(120), keys.missing(120, 349)),
        (349, vec![])
    );
}

#[test]
fn a_lost_file_leaves_a_gap_that_a_new_one_fills() {
    let disk = Arc::new(MemoryDisk::default());
    drop(filled(&disk, 4));
    disk.remove(&writer::name_of(101, 200)).unwrap();
    let keys = open(&disk, (1, 400), u64::MAX);
    assert_eq!(keys.reader().covered(1), 100);
    assert_eq!(keys.missing(1, 450), [(101, 200), (401, 450)]);
    let entries = (101..=200).map(|n| entry(n, n)).collect();
    keys.add(101, 200, entries).unwrap();
    assert_eq!(keys.reader().covered(1), 400);
    assert!((1..=400).all(|n| keys.reader().find(&key(n), 1).unwrap() == Some(entry(n, n))));
}

#[test]
fn any_damaged_byte_is_noticed_and_never_becomes_an_answer() {
    let whole = Arc::new(MemoryDisk::default());
    drop(filled(&whole, 1));
    let name = writer::name_of(1, UNIT);
    let bytes = {
        let file = whole.open(&name).unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read_at(&mut bytes, 0).unwrap();
        bytes
    };
    for filter_bytes_max in [u64::MAX, 0] {
        for at in (0..bytes.len()).step_by(97) {
            let disk = Arc::new(MemoryDisk::default());
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            disk.create(&name).unwrap().write_at(&damaged, 0).unwrap();
            let opened = Keys::open(
                Arc::clone(&disk) as Arc<dyn Disk>,
                7,
                (1, 100),
                UNIT,
                filter_bytes_max,
            );
            let keys = match opened {
                Ok(keys) => keys,
                Err(error) => panic!("expected a damaged file to be removed, got {error}"),
            };
            if keys.reader().covered(1) == 0 {
                assert_eq!(keys.removed().len(), 1);
                continue;
            }
            let mut refused = 0;
            for n in 1..=UNIT {
                match keys.reader().find(&key(n), 1) {
                    Ok(found) => assert_eq!(found, Some(entry(n, n)), "byte {at}"),
                    Err(Error::Corrupt { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(refused > 0, "byte {at}: the damage was not noticed");
        }
    }
}

#[test]
fn a_damaged_file_is_refused_until_the_folder_is_opened_again_and_then_missing() {
    let disk = Arc::new(MemoryDisk::default());
    let keys = filled(&disk, 3);
    let name = writer::name_of(101, 200);
    let file = disk.open(&name).unwrap();
    // The last page but one: an entry page with keys.
    let at = file.len().unwrap() - 4_096 - 2_000;
    file.write_at(&[0xff; 64], at).unwrap();
    let lost: Vec<u64> = (1..=300)
        .filter(|n| keys.reader().find(&key(*n), 1).is_err())
        .collect();
    assert!(!lost.is_empty() && lost.iter().all(|n| (101..=200).contains(n)));
    while keys.tidy(1, &mut || {}).unwrap() {}
    assert!(
        keys.reader().find(&key(lost[0]), 1).is_err(),
        "it is not simply forgotten"
    );
    assert!(!names(&disk).contains(&name));
    let keys = open(&disk, (1, 300), u64::MAX);
    assert_eq!(keys.missing(1, 300), [(101, 200)]);
}

#[test]
fn random_work_gives_the_answers_of_a_map() {
    let mut state = 0x1234_5678_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..40 {
        let disk = Arc::new(MemoryDisk::default());
        let room = [0, 300, u64::MAX][random(3) as usize];
        let mut keys = open(&disk, (1, 0), room);
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut last, mut first) = (0, 1);
        for _ in 0..60 {
            match random(8) {
                0..4 => {
                    let from = last + 1;
                    last += 1 + random(40);
                    let mut entries = Vec::new();
                    for sequence in from..=last {
                        let n = random(400);
                        if model.get(&n).is_none_or(|taken| *taken < first) {
                            model.insert(n, sequence);
                            entries.push(entry(n, sequence));
                        }
                    }
                    keys.add(from, last, entries).unwrap();
                }
                4 => first = (first + random(30)).min(last.max(1)),
                5 => while keys.tidy(first, &mut || {}).unwrap() {},
                6 => assert!(keys.tidy(first, &mut || {}).is_ok()),
                _ => {
                    keys = open(&disk, (first, last), room);
                }
            }
            assert_eq!(keys.missing(first, last), []);
        }
        for n in 0..400 {
            let expected = model.get(&n).filter(|sequence| **sequence >= first);
            let found = keys.reader().find(&key(n), first).unwrap();
            assert_eq!(found.map(|entry| entry.sequence), expected.copied());
        }
    }
}
