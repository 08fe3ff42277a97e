//! Cursors: one spelling each, and no text leads anywhere but to a place of this journal.

use journal::{Cursor, CursorFault, Durability, Journal, MemoryDisk, Options, Reader};
use std::sync::{Arc, OnceLock};

const LINEAGE: u64 = 0xfeed_0000_1234_abcd;

/// `data` is a text, given as a cursor.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let reader = reader();
    let (first, last) = reader.range();
    let resolved = reader.resolve(text);
    let Some(cursor) = Cursor::parse(text) else {
        assert_eq!(resolved, Err(CursorFault::Unknown));
        return;
    };
    assert_eq!(cursor.to_string(), text, "a cursor has one spelling");
    let ours = reader.cursor(cursor.sequence);
    let is_ours = ours.to_string() == text;
    match resolved {
        Ok(sequence) => {
            assert!(is_ours, "a text of another journal leads into this one");
            assert_eq!(sequence, cursor.sequence);
            assert!((first - 1..=last).contains(&sequence));
            let next = reader.read(sequence + 1, 1, 1).expect("reading goes on");
            assert!(next.iter().all(|record| record.sequence == sequence + 1));
        }
        Err(CursorFault::Foreign) => assert_ne!(cursor.lineage, LINEAGE & 0xffff_ffff),
        Err(CursorFault::EpochChanged) => assert_ne!(cursor.epoch, ours.epoch),
        Err(CursorFault::Unknown) => assert!(is_ours && cursor.sequence > last),
        Err(CursorFault::Expired) => assert!(is_ours && cursor.sequence + 1 < first),
    }
}

/// A journal whose oldest records were dropped.
fn reader() -> &'static Reader {
    static READER: OnceLock<Reader> = OnceLock::new();
    READER.get_or_init(|| {
        let options = Options {
            segment_bytes: 256,
            durability: Durability::Fsync,
            lineage: LINEAGE,
            now_ms: 0,
        };
        let disk = Arc::new(MemoryDisk::default());
        let mut journal = Journal::open(disk, options).expect("an empty folder opens");
        for number in 0..40_u8 {
            journal.append(1, &[&[number; 40]]);
            journal.commit().expect("memory takes every write");
        }
        journal.drop_before(20).expect("memory drops");
        journal.reader()
    })
}
