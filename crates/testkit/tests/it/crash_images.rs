//! The crashing disk can lose what real ones lose, and nothing else.

use interwire_testkit::{Cause, CrashDisk, Operation};
use journal::{Disk, DiskFile};
use std::collections::BTreeSet;

fn contents(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// A durable empty file.
fn with_file(seed: u64) -> (CrashDisk, std::sync::Arc<dyn DiskFile>) {
    let disk = CrashDisk::new(seed);
    let file = disk.create("a").unwrap();
    disk.sync_folder().unwrap();
    (disk, file)
}

/// All different images of one moment that many crashes show.
fn images(disk: &CrashDisk, name: &str) -> BTreeSet<Vec<u8>> {
    (0..2_000).map(|_| contents(&disk.crash(), name)).collect()
}

#[test]
fn what_was_synced_is_in_every_image() {
    let (disk, file) = with_file(1);
    file.write_at(&[7; 5_000], 0).unwrap();
    file.sync().unwrap();
    assert_eq!(images(&disk, "a"), BTreeSet::from([vec![7; 5_000]]));
}

#[test]
fn an_unsynced_write_can_be_lost_kept_or_torn_at_any_byte() {
    let (disk, file) = with_file(2);
    file.write_at(b"synced", 0).unwrap();
    file.sync().unwrap();
    file.write_at(b"ABCDEFGH", 4).unwrap();
    let images = images(&disk, "a");
    for torn in 0..=8 {
        let mut expected = b"synced".to_vec();
        expected.resize(6.max(4 + torn), 0);
        expected[4..4 + torn].copy_from_slice(&b"ABCDEFGH"[..torn]);
        assert!(images.contains(&expected), "torn at {torn}");
    }
}

#[test]
fn sectors_of_unsynced_writes_survive_in_any_order() {
    let (disk, file) = with_file(3);
    for sector in 0..3_u8 {
        file.write_at(&[sector + 1; 512], u64::from(sector) * 512)
            .unwrap();
    }
    let images = images(&disk, "a");
    let has = |kept: [bool; 3]| {
        images
            .iter()
            .filter(|image| image.len() == 1_536)
            .any(|image| {
                (0..3).all(|at| {
                    image[at * 512..][..512]
                        .iter()
                        .all(|byte| (*byte != 0) == kept[at])
                })
            })
    };
    for bits in 0..8 {
        assert!(
            has([bits & 1 != 0, bits & 2 != 0, bits & 4 != 0]),
            "sectors {bits:03b}"
        );
    }
}

#[test]
fn an_older_state_of_a_sector_never_returns() {
    let (disk, file) = with_file(4);
    file.write_at(b"1", 0).unwrap();
    file.sync().unwrap();
    file.write_at(b"2", 0).unwrap();
    file.write_at(b"3", 0).unwrap();
    let expected = [b"1", b"2", b"3"].map(|byte| byte.to_vec());
    assert_eq!(images(&disk, "a"), BTreeSet::from(expected));
}

#[test]
fn names_can_be_lost_until_the_folder_is_synced() {
    let disk = CrashDisk::new(5);
    disk.create("a").unwrap().sync().unwrap();
    disk.create("b").unwrap();
    disk.sync_folder().unwrap();
    disk.create("c").unwrap();
    disk.rename("a", "d").unwrap();
    disk.remove("b").unwrap();
    let seen: BTreeSet<Vec<String>> = (0..500).map(|_| disk.crash().list().unwrap()).collect();
    for expected in [
        &["a", "b"][..],
        &["c", "d"],
        &["a", "b", "c"],
        &["b", "c", "d"],
    ] {
        assert!(
            seen.iter().any(|names| names == expected),
            "{expected:?} in {seen:?}"
        );
    }
    for names in &seen {
        let ends = names
            .iter()
            .filter(|name| *name == "a" || *name == "d")
            .count();
        assert_eq!(ends, 1, "a rename is whole: {names:?}");
    }
    disk.sync_folder().unwrap();
    assert!((0..100).all(|_| disk.crash().list().unwrap() == ["c", "d"]));
}

#[test]
fn a_crash_leaves_the_disk_and_its_seed_repeats_it() {
    let run = || {
        let (disk, file) = with_file(6);
        file.write_at(&[1; 3_000], 0).unwrap();
        let images: Vec<_> = (0..20).map(|_| contents(&disk.crash(), "a")).collect();
        assert_eq!(contents(&disk, "a"), [1; 3_000]);
        images
    };
    assert_eq!(run(), run());
}

#[test]
fn the_chosen_operation_fails_once_with_the_chosen_cause() {
    let (disk, file) = with_file(7);
    disk.fail_after(1, Operation::Write, Cause::Full);
    disk.fail_after(0, Operation::Rename, Cause::Broken);
    file.write_at(b"a", 0).unwrap();
    assert_eq!(file.write_at(b"b", 1).unwrap_err().raw_os_error(), Some(28));
    file.write_at(b"c", 1).unwrap();
    assert_eq!(disk.rename("a", "b").unwrap_err().raw_os_error(), Some(5));
    disk.rename("a", "b").unwrap();
    assert_eq!(disk.count(Operation::Write), 3);
}

#[test]
fn a_failed_write_leaves_some_first_part() {
    let mut lengths = BTreeSet::new();
    for seed in 0..200 {
        let (disk, file) = with_file(seed);
        disk.fail_after(0, Operation::Write, Cause::Broken);
        file.write_at(b"abc", 0).unwrap_err();
        let left = contents(&disk, "a");
        assert!(b"abc".starts_with(&left));
        lengths.insert(left.len());
    }
    assert_eq!(lengths, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn a_sync_after_a_failed_one_does_not_bring_back_what_was_lost() {
    let mut lost = 0;
    for seed in 0..200 {
        let (disk, file) = with_file(seed);
        file.write_at(&[1; 600], 0).unwrap();
        disk.fail_after(0, Operation::Sync, Cause::Broken);
        file.sync().unwrap_err();
        file.sync().unwrap();
        assert_eq!(contents(&disk, "a"), [1; 600], "reading still shows it");
        lost += usize::from(contents(&disk.crash(), "a") != [1; 600]);
        file.write_at(&contents(&disk, "a"), 0).unwrap();
        file.sync().unwrap();
        assert_eq!(
            contents(&disk.crash(), "a"),
            [1; 600],
            "written again it is durable"
        );
    }
    assert!(lost > 50, "{lost}");
}
