//! A backup holds what was acknowledged before it; what is made of it is another life.

use crate::files::{Files, look, put, take};
use crate::halting::{Over, stopped_everywhere};
use crate::world::options;
use interwire_testkit::CrashDisk;
use journal::{
    Backup, BackupOptions, CursorFault, Disk, Durability, Error, Journal, MemoryDisk, RealDisk,
    Restored, backup, restore,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const LAST: u64 = 40;

fn open(disk: Arc<dyn Disk>) -> Result<Journal, Error> {
    Journal::open(disk, options(400, Durability::Fsync))
}

fn body(sequence: u64) -> Vec<u8> {
    vec![sequence.to_le_bytes()[0]; 50]
}

fn append(journal: &mut Journal, count: u64) {
    for _ in 0..count {
        journal.append(1, &[&body(journal.next_sequence())]);
        journal.commit().unwrap();
    }
}

/// A journal of many segments, still open, of which nothing was dropped.
fn grown(disk: Arc<dyn Disk>) -> Journal {
    let mut journal = open(disk).unwrap();
    append(&mut journal, LAST);
    journal
}

fn copy(from: &dyn Disk, to: &dyn Disk) -> Result<Backup, Error> {
    let options = BackupOptions {
        link: None,
        progress: &mut |_| {},
    };
    backup(from, to, options)
}

fn make(from: &dyn Disk, to: &dyn Disk, bits: u64) -> Result<Restored, Error> {
    restore(from, to, bits, &mut |_| {})
}

/// The journal has exactly these records; its files are as they should be.
fn check(disk: &Arc<dyn Disk>, (first, last): (u64, u64), place: &str) {
    assert_eq!(look(disk.as_ref()).unwrap().1, [], "{place}");
    let mut journal = open(Arc::clone(disk)).unwrap();
    assert_eq!(journal.recovery().rescanned, 0, "{place}");
    let reader = journal.reader();
    assert_eq!(reader.range(), (first, last), "{place}");
    let mut next = first;
    while next <= last {
        for record in reader.read(next, 9, 400).unwrap() {
            assert_eq!((record.sequence, &record.body[..]), (next, &body(next)[..]));
            next += 1;
        }
    }
    append(&mut journal, 20);
    assert_eq!(journal.reader().range(), (first, last + 20), "{place}");
}

#[test]
fn what_is_restored_has_every_record_and_goes_on() {
    for is_closed in [false, true] {
        let from = Arc::new(MemoryDisk::default());
        let journal = grown(Arc::clone(&from) as Arc<dyn Disk>);
        journal.checkpoints().write(12, b"older").unwrap();
        journal.checkpoints().write(30, b"newer").unwrap();
        journal.drop_before(14).unwrap();
        let (first, _) = journal.reader().range();
        if is_closed {
            journal.close().unwrap();
        }
        let before = take(from.as_ref());
        let (held, to) = (MemoryDisk::default(), Arc::new(MemoryDisk::default()));
        let made = copy(from.as_ref(), &held).unwrap();
        assert_eq!(take(from.as_ref()), before, "nothing changes");
        assert_eq!((made.first, made.last), (first, LAST));
        assert_eq!(
            (&made.checkpoints[..], made.is_complete()),
            (&[12, 30][..], true)
        );
        assert_eq!(look(&held).unwrap().1, []);
        let restored = make(&held, to.as_ref(), 77).unwrap();
        assert_eq!((restored.first, restored.last), (first, LAST));
        assert_eq!(restored.checkpoints, [12, 30]);
        let to = to as Arc<dyn Disk>;
        check(&to, (first, LAST), "restored");
        let journal = open(to).unwrap();
        let found = journal.checkpoints().latest(LAST).unwrap().unwrap();
        assert_eq!((found.sequence, &found.body[..]), (30, &b"newer"[..]));
    }
}

#[test]
fn no_cursor_of_another_life_is_taken_for_one_of_this() {
    let from = Arc::new(MemoryDisk::default());
    let mut journal = grown(Arc::clone(&from) as Arc<dyn Disk>);
    let held = MemoryDisk::default();
    copy(from.as_ref(), &held).unwrap();
    append(&mut journal, 5);
    let mut cursors: Vec<String> = (0..=LAST + 5)
        .map(|at| journal.reader().cursor(at).to_string())
        .collect();
    // The first journal lives on, through ends that move its epoch.
    drop(journal);
    for _ in 0..5 {
        let os = options(400, Durability::Os);
        let journal = Journal::open(Arc::clone(&from) as Arc<dyn Disk>, os).unwrap();
        cursors.push(journal.reader().cursor(LAST).to_string());
    }
    for bits in [0, 1, 2, u64::MAX] {
        let to = Arc::new(MemoryDisk::default());
        make(&held, to.as_ref(), bits).unwrap();
        let reader = open(to).unwrap().reader();
        for cursor in &cursors {
            assert_eq!(reader.resolve(cursor), Err(CursorFault::EpochChanged));
        }
        cursors.push(reader.cursor(LAST).to_string());
    }
}

#[test]
fn an_empty_journal_and_one_that_was_just_begun_can_be_kept() {
    let from = Arc::new(MemoryDisk::default());
    let journal = open(Arc::clone(&from) as Arc<dyn Disk>).unwrap();
    let (held, to) = (MemoryDisk::default(), Arc::new(MemoryDisk::default()));
    assert_eq!(copy(from.as_ref(), &held).unwrap().last, 0);
    make(&held, to.as_ref(), 1).unwrap();
    check(&(to as Arc<dyn Disk>), (1, 0), "empty");
    drop(journal);
    let nothing = MemoryDisk::default();
    assert!(matches!(
        copy(&nothing, &MemoryDisk::default()),
        Err(Error::Unfit(_))
    ));
}

#[test]
fn only_a_finished_backup_is_restored_and_only_into_an_empty_folder() {
    let from = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&from) as Arc<dyn Disk>);
    let held = Arc::new(MemoryDisk::default());
    copy(from.as_ref(), held.as_ref()).unwrap();
    assert!(matches!(
        copy(from.as_ref(), held.as_ref()),
        Err(Error::Occupied(_))
    ));
    let occupied = make(held.as_ref(), from.as_ref(), 1);
    assert!(matches!(occupied, Err(Error::Occupied(_))));
    let no_backup = make(from.as_ref(), &MemoryDisk::default(), 1);
    assert!(matches!(no_backup, Err(Error::Unfit(_))));
    // It is no journal, and so cannot become a second one with the same cursors.
    let opened = open(held as Arc<dyn Disk>);
    assert!(opened.unwrap_err().to_string().contains("is a backup"));
    drop(journal);
}

#[test]
fn damage_is_not_copied_but_named() {
    let from = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&from) as Arc<dyn Disk>);
    journal.checkpoints().write(30, b"the state").unwrap();
    journal.close().unwrap();
    let sound = take(from.as_ref());
    let held = MemoryDisk::default();
    copy(from.as_ref(), &held).unwrap();
    let held = take(&held);
    let check = |files: &Files, make: &dyn Fn(&dyn Disk) -> Option<Error>| {
        for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".seg")) {
            for at in (0..bytes.len()).step_by(7) {
                let mut damaged = files.clone();
                damaged.get_mut(name).unwrap()[at] ^= 0x20;
                match make(put(&damaged).as_ref()) {
                    Some(Error::Corrupt {
                        segment, offset, ..
                    }) => {
                        assert_eq!(&segment, name);
                        assert!(offset <= at as u64 && offset + 80 > at as u64);
                    }
                    other => panic!("{name} at {at}: {other:?}"),
                }
            }
        }
    };
    check(&sound, &|disk| copy(disk, &MemoryDisk::default()).err());
    check(&held, &|disk| make(disk, &MemoryDisk::default(), 1).err());
    // A checkpoint is not needed where all records are; a backup goes without it and says so.
    let name = held.keys().find(|name| name.ends_with(".ckp")).unwrap();
    let mut damaged = sound.clone();
    damaged.get_mut(name).unwrap()[70] ^= 1;
    let made = copy(put(&damaged).as_ref(), &MemoryDisk::default()).unwrap();
    assert_eq!((made.checkpoints.len(), made.unusable.len()), (0, 1));
    assert_eq!(&made.unusable[0].file, name);
    let mut damaged = held.clone();
    damaged.get_mut(name).unwrap()[70] ^= 1;
    let made = make(put(&damaged).as_ref(), &MemoryDisk::default(), 1);
    assert!(matches!(made, Err(Error::Unusable(_))));
    for name in held.keys().filter(|name| name.ends_with(".seg")) {
        let mut fewer = held.clone();
        fewer.remove(name);
        let made = make(put(&fewer).as_ref(), &MemoryDisk::default(), 1);
        assert!(matches!(made, Err(Error::Corrupt { .. })), "{name}");
    }
}

#[test]
fn a_torn_tail_and_a_segment_that_was_never_used_are_left_out() {
    let from = Arc::new(MemoryDisk::default());
    drop(grown(Arc::clone(&from) as Arc<dyn Disk>));
    let files = take(from.as_ref());
    let (name, bytes) = files
        .iter()
        .rfind(|(name, _)| name.ends_with(".seg"))
        .unwrap();
    let mut torn = files.clone();
    torn.get_mut(name).unwrap().truncate(bytes.len() - 5);
    let made = copy(put(&torn).as_ref(), &MemoryDisk::default()).unwrap();
    assert_eq!(made.last, LAST - 1);
    for header in [vec![], vec![0; 700], b"IWJSEG01".to_vec()] {
        let mut unused = files.clone();
        unused.insert(format!("{:020}.seg", LAST + 1), header);
        let (held, to) = (MemoryDisk::default(), Arc::new(MemoryDisk::default()));
        let made = copy(put(&unused).as_ref(), &held).unwrap();
        assert_eq!(made.last, LAST);
        make(&held, to.as_ref(), 1).unwrap();
        check(&(to as Arc<dyn Disk>), (1, LAST), "with an unused segment");
    }
}

#[test]
fn stopped_at_any_change_a_restore_is_whole_or_does_not_open_and_can_be_run_again() {
    let held = MemoryDisk::default();
    let from = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&from) as Arc<dyn Disk>);
    journal.checkpoints().write(30, b"the state").unwrap();
    copy(from.as_ref(), &held).unwrap();
    stopped_everywhere(
        0..6,
        |_| {},
        |halting| {
            halting.begin();
            make(&held, &halting, 5).is_ok()
        },
        |is_done| *is_done,
        |disk, is_done, place| {
            let disk = Arc::new(disk) as Arc<dyn Disk>;
            let has_begun = !disk.list().unwrap().is_empty();
            match open(Arc::clone(&disk)) {
                Ok(journal) if has_begun => {
                    let epoch = journal.reader().cursor(0).epoch;
                    assert_eq!(epoch, 1 + 1_024 + 5, "{place}");
                    drop(journal);
                }
                Ok(_) => {
                    assert!(!is_done, "{place}");
                    return;
                }
                Err(Error::Unfit(what)) => {
                    assert!(!is_done && what.contains("run it again"), "{place}: {what}");
                    make(&held, disk.as_ref(), 6).unwrap();
                }
                Err(error) => panic!("{place}: {error}"),
            }
            check(&disk, (1, LAST), place);
        },
    );
}

#[test]
fn stopped_at_any_change_a_backup_is_whole_or_is_none() {
    let from = Arc::new(MemoryDisk::default());
    let journal = grown(Arc::clone(&from) as Arc<dyn Disk>);
    journal.checkpoints().write(30, b"the state").unwrap();
    stopped_everywhere(
        0..6,
        |_| {},
        |halting| {
            halting.begin();
            copy(from.as_ref(), &halting).is_ok()
        },
        |is_done| *is_done,
        |disk, is_done, place| {
            let to = Arc::new(CrashDisk::new(1)) as Arc<dyn Disk>;
            match make(&disk, to.as_ref(), 1) {
                Ok(_) => check(&to, (1, LAST), place),
                Err(Error::Unfit(_)) => assert!(!is_done, "{place}"),
                Err(error) => panic!("{place}: {error}"),
            }
        },
    );
}

#[test]
fn closed_segments_can_be_linked_and_keep_what_they_were() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = root.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let (data, held, new) = (folder("data"), folder("held"), folder("new"));
    let disk = Arc::new(RealDisk::open(&data).unwrap());
    let mut journal = grown(Arc::clone(&disk) as Arc<dyn Disk>);
    let options = BackupOptions {
        link: Some(&mut |name| std::fs::hard_link(data.join(name), held.join(name))),
        progress: &mut |_| {},
    };
    let to = RealDisk::open(&held).unwrap();
    let made = backup(disk.as_ref(), &to, options).unwrap();
    assert_eq!(made.linked, made.segments - 1);
    // The journal goes on, and drops what the backup still has.
    append(&mut journal, 50);
    journal.drop_before(u64::MAX).unwrap();
    let restored = Arc::new(RealDisk::open(&new).unwrap()) as Arc<dyn Disk>;
    make(&to, restored.as_ref(), 1).unwrap();
    check(&restored, (1, LAST), "from links");
    assert_eq!(
        look(&to).unwrap().1,
        [],
        "what is restored does not write into the links"
    );
}

#[test]
fn a_backup_beside_a_busy_writer_has_everything_that_was_acknowledged_before_it() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let disk = Arc::new(RealDisk::open(&data).unwrap());
    let busy = options(4_000, Durability::Fsync);
    let mut journal = Journal::open(Arc::clone(&disk) as Arc<dyn Disk>, busy).unwrap();
    let (reader, retention) = (journal.reader(), journal.retention());
    let (checkpoints, filler) = (journal.checkpoints(), journal.filler());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                append(&mut journal, 7);
            }
        });
        threads.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                filler.step().unwrap();
            }
        });
        threads.spawn(|| {
            let mut before = 0;
            while !is_over.load(Ordering::Acquire) {
                let last = reader.range().1;
                if last < before + 500 {
                    std::thread::yield_now();
                    continue;
                }
                checkpoints.write(last, &last.to_le_bytes()).unwrap();
                retention.drop_before(before + 1).unwrap();
                before = last;
            }
        });
        let _over = Over(&is_over);
        for round in 0..10 {
            let acknowledged = reader.range().1;
            let from = RealDisk::read_only(&data).unwrap();
            let held = MemoryDisk::default();
            let made = copy(&from, &held).unwrap();
            assert!(made.last >= acknowledged, "round {round}: {made:?}");
            assert!(made.is_complete(), "{made:?}");
            let to = Arc::new(MemoryDisk::default());
            make(&held, to.as_ref(), round).unwrap();
            let to = to as Arc<dyn Disk>;
            check(&to, (made.first, made.last), "beside a writer");
            let found = open(to).unwrap().checkpoints().latest(made.last).unwrap();
            match found {
                Some(found) => {
                    assert_eq!(found.body[..], found.sequence.to_le_bytes());
                    assert!(found.sequence + 1 >= made.first);
                }
                None => assert_eq!(made.first, 1),
            }
        }
    });
}
