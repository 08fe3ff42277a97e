//! Checkpoints: a file gives back exactly the body that was written, or says where it is damaged.

use journal::{Checkpoints, Disk, Durability, Journal, MemoryDisk, Options};
use std::io::Write as _;
use std::sync::Arc;

const NAME: &str = "00000000000000000003.ckp";

/// `data` is read three ways: as a body, as damage to a file, and as a file.
pub fn run(data: &[u8]) {
    body(data);
    if let [low, high, patch @ ..] = data {
        patched(usize::from(u16::from_le_bytes([*low, *high])), patch);
    }
    file(data);
}

fn journal() -> (Arc<MemoryDisk>, Checkpoints) {
    let disk = Arc::new(MemoryDisk::default());
    let options = Options {
        segment_bytes: 256,
        durability: Durability::Fsync,
        lineage: 1,
        now_ms: 0,
    };
    let to = Arc::clone(&disk) as Arc<dyn Disk>;
    let mut journal = Journal::open(to, options).expect("an empty folder opens");
    for _ in 0..3 {
        journal.append(1, &[b"a"]);
    }
    journal.commit().expect("memory takes every write");
    (disk, journal.checkpoints())
}

/// Written in parts, whose lengths are in the data.
fn body(data: &[u8]) {
    let (_, checkpoints) = journal();
    let mut writer = checkpoints.begin(3).expect("three records are durable");
    let mut rest = data;
    while let Some(first) = rest.first() {
        let (part, behind) = rest.split_at((usize::from(*first) + 1).min(rest.len()));
        writer.write_all(part).expect("memory takes every write");
        rest = behind;
    }
    writer.keep().expect("memory takes every write");
    let found = checkpoints.latest(3).expect("memory reads");
    let found = found.expect("what was written is found");
    assert_eq!((found.sequence, &found.body[..]), (3, data));
}

fn patched(place: usize, patch: &[u8]) {
    let (disk, checkpoints) = journal();
    let body: Vec<u8> = (0..3_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    checkpoints
        .write(1, b"older")
        .expect("memory takes every write");
    checkpoints
        .write(3, &body)
        .expect("memory takes every write");
    let file = disk.open(NAME).expect("it is there");
    let length = file.len().expect("memory knows lengths");
    let mut before = vec![0; usize::try_from(length).expect("it is short")];
    file.read_at(&mut before, 0).expect("memory reads");
    file.write_at(patch, place as u64 % (length + 1))
        .expect("memory takes every write");
    let mut after = vec![0; before.len() + patch.len() + 1];
    let count = file.read_at(&mut after, 0).expect("memory reads");
    let is_same = after[..count] == before[..];
    let (found, unusable) = checkpoints.look(3).expect("memory lists");
    let found = found.expect("the older one is there");
    match is_same {
        true => assert_eq!((found.sequence, &found.body[..]), (3, &body[..])),
        false => assert_eq!((found.sequence, &found.body[..]), (1, &b"older"[..])),
    }
    assert_eq!(unusable.len(), usize::from(!is_same));
}

fn file(data: &[u8]) {
    let (disk, checkpoints) = journal();
    let file = disk.create(NAME).expect("memory takes every file");
    file.write_at(data, 0).expect("memory takes every write");
    let (found, unusable) = checkpoints.look(3).expect("memory lists");
    match (found, unusable.as_slice()) {
        (Some(found), []) => assert_eq!(found.sequence, 3),
        (None, [unusable]) => {
            assert_eq!((unusable.file.as_str(), unusable.sequence), (NAME, 3));
            assert!(unusable.offset <= data.len() as u64 && !unusable.what.is_empty());
        }
        other => panic!("expected a body or a reason, got {other:?}"),
    }
}
