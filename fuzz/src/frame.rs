//! Journal bytes: frames, record bodies and whole folders, damaged at will.

use bytes::Bytes;
use exchange::Record;
use journal::frame::{self, Scan};
use journal::{Disk, Durability, Error, Journal, MemoryDisk, Options};
use std::sync::Arc;

/// Check sums without a lineage, so that seeds need none.
const KEY: u32 = 0;

/// `data` is read three ways: as frames, as a record's kind and body, and as damage to a folder.
pub fn run(data: &[u8]) {
    frames(data);
    record(data);
    folder(data);
}

fn frames(data: &[u8]) {
    match frame::scan(data, KEY) {
        Scan::Whole(found) => {
            let mut written = Vec::new();
            frame::write(
                &mut written,
                KEY,
                found.sequence,
                found.back,
                found.kind,
                &[found.body],
            );
            assert_eq!(
                written,
                data[..found.bytes()],
                "a frame reads back as it was written"
            );
        }
        Scan::Short { needs } => assert!(needs > data.len(), "a short frame needs more bytes"),
        Scan::Damaged(what) => assert!(!what.is_empty()),
    }
}

fn record(data: &[u8]) {
    let Some((kind, body)) = data.split_first() else {
        return;
    };
    let body = Bytes::copy_from_slice(body);
    if let Ok(record) = Record::decode(*kind, &body) {
        let mut written = Vec::new();
        record.encode_head(&mut written);
        if let Record::Published { envelope, .. } = &record {
            written.extend_from_slice(envelope);
        }
        let again = Record::decode(record.kind(), &Bytes::from(written));
        assert_eq!(
            again.as_ref(),
            Ok(&record),
            "a record that was read is written so that it reads back"
        );
    }
}

/// Two bytes say where; the rest is written there over a folder of three small segments.
fn folder(data: &[u8]) {
    let [low, high, patch @ ..] = data else {
        return;
    };
    let disk = Arc::new(MemoryDisk::default());
    let options = || Options {
        segment_bytes: 256,
        durability: Durability::Fsync,
        lineage: 1,
        now_ms: 0,
    };
    let mut journal = Journal::open(Arc::clone(&disk) as Arc<dyn Disk>, options())
        .expect("an empty folder opens");
    for number in 0..12_u8 {
        journal.append(1, &[&[number; 40]]);
        journal.commit().expect("memory takes every write");
    }
    drop(journal);
    let mut names = disk.list().expect("memory lists");
    names.sort();
    let name = &names[usize::from(*high) % names.len()];
    let file = disk.open(name).expect("a listed file opens");
    let length = file.len().expect("memory knows lengths").max(1);
    file.write_at(patch, u64::from(*low) * 3 % length)
        .expect("memory takes every write");
    match Journal::open(disk, options()) {
        Ok(journal) => {
            let reader = journal.reader();
            let (first, last) = reader.range();
            let mut position = first - 1;
            while position < last {
                match reader.read(position + 1, 5, 128) {
                    Ok(records) => {
                        for record in records {
                            assert_eq!(record.sequence, position + 1, "no record is skipped");
                            position += 1;
                        }
                    }
                    Err(Error::Corrupt { .. }) => return,
                    Err(error) => panic!("expected records or damage with a place, got {error}"),
                }
            }
        }
        Err(Error::Corrupt { .. } | Error::UnknownFormat { .. }) => {}
        Err(error) => panic!("expected a journal or damage with a place, got {error}"),
    }
}
