//! A whole segment file: what opening gives are the records at its start, all of them and no others,
//! or it is refused with a place.

use journal::frame::{self, Scan};
use journal::{Disk, Durability, Error, Eyes, Journal, MemoryDisk, Options, Record, verify};
use std::sync::Arc;

const LINEAGE: u64 = 1;
const NAME: &str = "00000000000000000001.seg";
const HEADER_BYTES: usize = 64;

/// The first byte says how the journal was left: 255 open, any other closed with so many records.
/// `data` behind it is a file, a file without its header, and a recipe for one.
pub fn run(data: &[u8]) {
    let Some((left, data)) = data.split_first() else {
        return;
    };
    let closed_with = (*left < 255).then_some(usize::from(*left % 8));
    let header = left_by(closed_with).1;
    check(closed_with, data);
    check(closed_with, &[&header, data].concat());
    check(closed_with, &[&header[..], &cooked(data)].concat());
}

fn options() -> Options {
    Options {
        segment_bytes: 1 << 20,
        durability: Durability::Fsync,
        lineage: LINEAGE,
        now_ms: 0,
    }
}

/// A folder with a journal of one segment, and that segment's header.
fn left_by(closed_with: Option<usize>) -> (Arc<MemoryDisk>, [u8; HEADER_BYTES]) {
    let disk = Arc::new(MemoryDisk::default());
    let to = Arc::clone(&disk) as Arc<dyn Disk>;
    let mut journal = Journal::open(to, options()).expect("an empty folder opens");
    for _ in 0..closed_with.unwrap_or(0) {
        journal.append(1, &[b"a"]);
    }
    journal.commit().expect("memory takes every write");
    if closed_with.is_some() {
        journal.close().expect("memory closes");
    }
    let mut header = [0; HEADER_BYTES];
    let file = disk.open(NAME).expect("there is a segment");
    file.read_at(&mut header, 0).expect("memory reads");
    (disk, header)
}

/// Two bytes a step: whole records, records that say something else, damaged ones, zeros, noise.
fn cooked(data: &[u8]) -> Vec<u8> {
    let (mut bytes, mut sequence) = (Vec::new(), 1);
    for step in data.chunks_exact(2).take(200) {
        let (what, number) = (step[0], step[1]);
        let length = usize::from(number);
        let start = bytes.len();
        let mut put = |sequence: u64, back: u32| {
            let body = vec![number; length];
            let key = frame::key(LINEAGE);
            frame::write(&mut bytes, key, sequence, back, what, &[&body]);
        };
        match what % 8 {
            0..=2 => {
                put(sequence, 1);
                sequence += 1;
            }
            3 => {
                put(sequence, u32::from(number));
                sequence += 1;
            }
            4 => put(u64::from(number), 1),
            5 => {
                put(sequence, 1);
                sequence += 1;
                let at = start + length % (bytes.len() - start);
                bytes[at] ^= 1 << (what >> 5);
            }
            6 => bytes.resize(start + length * 8, 0),
            _ => bytes.push(number),
        }
    }
    bytes
}

/// The records at the start, by the shortest possible reading, and where they end.
fn expected(bytes: &[u8]) -> (Vec<(u8, Vec<u8>)>, usize) {
    let (mut records, mut at) = (Vec::new(), HEADER_BYTES);
    let key = frame::key(LINEAGE);
    while let Some(rest) = bytes.get(at..) {
        match frame::scan(rest, key) {
            Scan::Whole(found) if found.sequence == records.len() as u64 + 1 => {
                records.push((found.kind, found.body.to_vec()));
                at += found.bytes();
            }
            Scan::Whole(_) | Scan::Short { .. } | Scan::Damaged(_) => break,
        }
    }
    (records, at)
}

fn check(closed_with: Option<usize>, bytes: &[u8]) {
    let (disk, header) = left_by(closed_with);
    let file = disk.create(NAME).expect("memory takes every file");
    file.write_at(bytes, 0).expect("memory takes every write");
    let has_header = bytes.starts_with(&header);
    let (records, end) = match has_header {
        true => expected(bytes),
        false => (Vec::new(), 0),
    };
    let rest = bytes.get(end..).unwrap_or_default();
    let is_zeros = rest.iter().all(|byte| *byte == 0);

    let (mut seen, mut damages) = (0, 0);
    let mut see = |_: &Record| {
        seen += 1;
        None
    };
    let eyes = Eyes {
        record: &mut see,
        state: &mut |_| None,
    };
    let verified = verify(disk.as_ref(), eyes, &mut |finding| {
        assert!(finding.offset <= bytes.len() as u64 && !finding.what.is_empty());
        // A forged record may open and yet be known for one.
        let is_forged = finding.what.ends_with("to be durable before it");
        damages += usize::from(finding.is_damage && !is_forged);
    });
    let verified = verified.expect("a folder with a manifest can be looked at");
    assert_eq!(verified.records, seen);
    assert!(!has_header || seen >= records.len() as u64);

    match Journal::open(Arc::clone(&disk) as Arc<dyn Disk>, options()) {
        Ok(journal) => {
            assert_eq!(damages, 0, "what opens is not damaged");
            let found = read(&journal);
            assert!(found == records, "other records than there are");
            assert!(closed_with.is_none_or(|count| count == records.len() && is_zeros));
            drop(journal);
            let again = Journal::open(disk, options()).expect("what opened once opens again");
            assert!(read(&again) == records, "another answer the second time");
        }
        Err(Error::Corrupt { offset, .. }) => {
            assert!(offset <= bytes.len() as u64);
            assert!(damages > 0, "what is refused is damaged");
            assert!(!has_header || !is_zeros || closed_with.is_some());
        }
        Err(Error::UnknownFormat { .. }) => assert!(!has_header),
        Err(error) => panic!("expected a journal or damage with a place, got {error}"),
    }
}

fn read(journal: &Journal) -> Vec<(u8, Vec<u8>)> {
    let reader = journal.reader();
    let mut found: Vec<(u8, Vec<u8>)> = Vec::new();
    while (found.len() as u64) < reader.range().1 {
        let records = reader
            .read(found.len() as u64 + 1, 7, 300)
            .expect("what opened is read");
        for record in records {
            assert_eq!(record.sequence, found.len() as u64 + 1);
            found.push((record.kind, record.body.to_vec()));
        }
    }
    found
}
