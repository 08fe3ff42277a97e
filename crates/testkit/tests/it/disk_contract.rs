//! What every [`Disk`] does, whatever it is made of.

use interwire_testkit::CrashDisk;
use journal::{Disk, DiskFile, MemoryDisk, RealDisk};
use std::io::ErrorKind;

fn on_each_disk(check: impl Fn(&dyn Disk)) {
    let folder = tempfile::TempDir::new().unwrap();
    check(&RealDisk::open(folder.path()).unwrap());
    check(&MemoryDisk::default());
    check(&CrashDisk::new(1));
}

fn contents(file: &dyn DiskFile) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap() + 8];
    let count = file.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(count);
    bytes
}

fn names(disk: &dyn Disk) -> Vec<String> {
    let mut names = disk.list().unwrap();
    names.sort();
    names
}

#[test]
fn a_created_file_is_empty_and_listed() {
    on_each_disk(|disk| {
        assert_eq!(names(disk), [""; 0]);
        let file = disk.create("a").unwrap();
        assert_eq!(file.len().unwrap(), 0);
        assert!(file.is_empty().unwrap());
        disk.create("b").unwrap();
        assert_eq!(names(disk), ["a", "b"]);
    });
}

#[test]
fn two_openings_are_one_file() {
    on_each_disk(|disk| {
        let first = disk.create("a").unwrap();
        first.write_at(b"hello", 0).unwrap();
        let second = disk.open("a").unwrap();
        assert_eq!(contents(second.as_ref()), b"hello");
        second.write_at(b"y", 0).unwrap();
        assert_eq!(contents(first.as_ref()), b"yello");
    });
}

#[test]
fn creating_over_a_file_empties_it_for_everyone_who_has_it_open() {
    on_each_disk(|disk| {
        let old = disk.create("a").unwrap();
        old.write_at(b"hello", 0).unwrap();
        let new = disk.create("a").unwrap();
        assert_eq!(contents(old.as_ref()), b"");
        new.write_at(b"new", 0).unwrap();
        assert_eq!(contents(old.as_ref()), b"new");
    });
}

#[test]
fn what_is_missing_is_not_found() {
    on_each_disk(|disk| {
        assert_eq!(disk.open("a").err().unwrap().kind(), ErrorKind::NotFound);
        assert_eq!(disk.remove("a").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(
            disk.rename("a", "b").unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}

#[test]
fn a_write_replaces_grows_and_fills_a_gap_with_zeros() {
    on_each_disk(|disk| {
        let file = disk.create("a").unwrap();
        file.write_at(b"abcdef", 0).unwrap();
        file.write_at(b"XY", 2).unwrap();
        assert_eq!(contents(file.as_ref()), b"abXYef");
        file.write_at(b"Z", 8).unwrap();
        assert_eq!(contents(file.as_ref()), b"abXYef\0\0Z");
        file.write_at(b"", 100).unwrap();
        assert_eq!(file.len().unwrap(), 9);
    });
}

#[test]
fn a_read_stops_at_the_end_and_leaves_the_rest_of_the_buffer() {
    on_each_disk(|disk| {
        let file = disk.create("a").unwrap();
        file.write_at(b"abcdef", 0).unwrap();
        let mut buffer = [b'.'; 4];
        assert_eq!(file.read_at(&mut buffer, 3).unwrap(), 3);
        assert_eq!(&buffer, b"def.");
        for beyond in [6, 7, 1 << 40] {
            assert_eq!(file.read_at(&mut buffer, beyond).unwrap(), 0);
        }
        assert_eq!(file.read_at(&mut [], 0).unwrap(), 0);
    });
}

#[test]
fn a_cut_shortens_and_never_lengthens() {
    on_each_disk(|disk| {
        let file = disk.create("a").unwrap();
        file.write_at(b"abcdef", 0).unwrap();
        file.truncate(9).unwrap();
        assert_eq!(contents(file.as_ref()), b"abcdef");
        file.truncate(2).unwrap();
        assert_eq!(contents(file.as_ref()), b"ab");
        file.write_at(b"z", 4).unwrap();
        assert_eq!(
            contents(file.as_ref()),
            b"ab\0\0z",
            "what was cut does not come back"
        );
    });
}

#[test]
fn a_rename_replaces_and_open_files_stay_what_they_are() {
    on_each_disk(|disk| {
        let moved = disk.create("a").unwrap();
        moved.write_at(b"moved", 0).unwrap();
        let replaced = disk.create("b").unwrap();
        replaced.write_at(b"replaced", 0).unwrap();
        disk.rename("a", "b").unwrap();
        assert_eq!(names(disk), ["b"]);
        assert_eq!(contents(disk.open("b").unwrap().as_ref()), b"moved");
        assert_eq!(contents(replaced.as_ref()), b"replaced");
        disk.rename("b", "b").unwrap();
        assert_eq!(names(disk), ["b"]);
    });
}

#[test]
fn a_removed_file_is_gone_and_readable_by_who_has_it_open() {
    on_each_disk(|disk| {
        let file = disk.create("a").unwrap();
        file.write_at(b"hello", 0).unwrap();
        disk.remove("a").unwrap();
        assert_eq!(names(disk), [""; 0]);
        assert_eq!(contents(file.as_ref()), b"hello");
        assert_eq!(contents(disk.create("a").unwrap().as_ref()), b"");
    });
}

#[test]
fn syncing_changes_nothing_that_can_be_seen() {
    on_each_disk(|disk| {
        let file = disk.create("a").unwrap();
        file.write_at(b"hello", 0).unwrap();
        file.sync().unwrap();
        disk.sync_folder().unwrap();
        file.truncate(4).unwrap();
        file.sync().unwrap();
        assert_eq!(contents(file.as_ref()), b"hell");
        assert_eq!(names(disk), ["a"]);
    });
}

#[test]
fn only_files_are_listed_in_a_real_folder() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    std::fs::write(folder.path().join("a"), b"").unwrap();
    assert_eq!(names(&RealDisk::open(folder.path()).unwrap()), ["a"]);
    assert!(RealDisk::open(&folder.path().join("missing")).is_err());
}

#[test]
fn a_folder_opened_for_reading_refuses_every_change() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), b"hello").unwrap();
    let disk = RealDisk::read_only(folder.path()).unwrap();
    let file = disk.open("a").unwrap();
    assert_eq!(contents(file.as_ref()), b"hello");
    assert!(disk.create("a").is_err());
    assert!(disk.rename("a", "b").is_err());
    assert!(disk.remove("a").is_err());
    assert!(disk.sync_folder().is_err());
    assert!(file.write_at(b"x", 0).is_err());
    assert!(file.truncate(0).is_err());
    assert_eq!(names(&disk), ["a"]);
    assert_eq!(contents(file.as_ref()), b"hello");
}
