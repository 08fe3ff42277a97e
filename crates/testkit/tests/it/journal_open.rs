//! Opening and holding a journal costs little, however long it is.

use crate::world::options;
use interwire_testkit::Random;
use journal::{Disk, DiskFile, Durability, Journal, MemoryDisk, Options, RealDisk};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Counts what is read, and the files that are open.
#[derive(Default)]
struct Counting {
    disk: MemoryDisk,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    open: AtomicUsize,
    read: AtomicU64,
}

struct CountingFile {
    file: Arc<dyn DiskFile>,
    counts: Arc<Counts>,
}

impl Counting {
    fn file(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        Arc::new(CountingFile {
            file,
            counts: Arc::clone(&self.counts),
        })
    }

    fn open_files(&self) -> usize {
        self.counts.open.load(Ordering::Relaxed)
    }
}

impl Drop for CountingFile {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Disk for Counting {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(self.disk.open(name)?))
    }
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(self.disk.create(name)?))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_folder(&self) -> io::Result<()> {
        self.disk.sync_folder()
    }
}

impl DiskFile for CountingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.read_at(buffer, offset)?;
        self.counts.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

const SEGMENT_BYTES: u64 = 100_000;
const SEGMENTS: usize = 300;

fn open(disk: &Arc<Counting>) -> Journal {
    let disk = Arc::clone(disk) as Arc<dyn Disk>;
    Journal::open(disk, options(SEGMENT_BYTES, Durability::Fsync)).unwrap()
}

fn grown() -> (Arc<Counting>, u64) {
    let disk = Arc::new(Counting::default());
    let mut journal = open(&disk);
    while journal.reader().segments().len() < SEGMENTS {
        let sequence = journal.next_sequence();
        for sequence in sequence..sequence + 100 {
            let body = sequence.to_le_bytes().repeat(110);
            journal.append(1, &[&body]);
        }
        journal.commit().unwrap();
        assert!(disk.open_files() < 70, "{} files", disk.open_files());
    }
    (disk, journal.next_sequence() - 1)
}

#[test]
fn opening_reads_the_last_segment_and_little_of_the_others() {
    let (disk, last) = grown();
    let before = disk.counts.read.load(Ordering::Relaxed);
    let journal = open(&disk);
    let read = disk.counts.read.load(Ordering::Relaxed) - before;
    assert_eq!(journal.reader().range(), (1, last));
    let records = SEGMENTS as u64 * SEGMENT_BYTES;
    assert!(read < records / 50, "{read} of {records} bytes were read");
    assert_eq!(disk.open_files(), 1);
}

#[test]
fn readers_anywhere_keep_few_files_open() {
    let (disk, last) = grown();
    let journal = open(&disk);
    let reader = journal.reader();
    let mut random = Random::new(1);
    for _ in 0..3_000 {
        let from = 1 + random.below(last);
        let records = reader.read(from, 1 + random.index(3), 1_000).unwrap();
        assert_eq!(records[0].sequence, from);
        assert_eq!(records[0].body[..8], from.to_le_bytes());
        assert!(disk.open_files() < 70, "{} files", disk.open_files());
    }
    journal.drop_before(last).unwrap();
    assert_eq!(
        disk.open_files(),
        1,
        "the files of dropped segments are closed"
    );
}

/// Prints how long opening takes and what it holds, for `INTERWIRE_RECORDS` records of 1 KiB in
/// `INTERWIRE_FOLDER`, which is kept for another run.
#[test]
#[ignore = "a measurement: writes gigabytes"]
fn measure_opening() {
    let setting = |name: &str, otherwise: &str| std::env::var(name).unwrap_or(otherwise.into());
    let records: u64 = setting("INTERWIRE_RECORDS", "1000000").parse().unwrap();
    let folder = std::path::PathBuf::from(setting("INTERWIRE_FOLDER", "/tmp/interwire-open"));
    std::fs::create_dir_all(&folder).unwrap();
    let open = || {
        let disk = Arc::new(RealDisk::open(&folder).unwrap());
        let options = Options {
            durability: Durability::Os,
            ..Options::new(7)
        };
        Journal::open(disk, options).unwrap()
    };
    let mut journal = open();
    let body = Random::new(1).bytes(1_000);
    while journal.next_sequence() <= records {
        for _ in 0..1_000 {
            journal.append(1, &[&body]);
        }
        journal.commit().unwrap();
    }
    journal.close().unwrap();
    for _ in 0..3 {
        let (before, start) = (resident(), Instant::now());
        let journal = open();
        println!(
            "{} records in {} segments: opened in {:?}, holding {} KiB",
            journal.reader().range().1,
            journal.recovery().segments,
            start.elapsed(),
            (resident().saturating_sub(before)) / 1_024
        );
        journal.close().unwrap();
    }
}

/// Bytes of memory this process has.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|text| text.parse().ok());
    pages.unwrap_or(0_u64) * 4_096
}
