//! Writing a file of keys, from one list or from several files, in one pass.

use super::KeyEntry;
use super::filter::{self, BLOCK_BYTES, BLOCK_WORDS, Block};
use super::page::{self, PAGE_BYTES, ROOM_BYTES};
use super::run::{self, BLOCKS_PER_PAGE, ENTRIES_MAX, Heading, Run};
use crate::{Disk, DiskFile, Error};
use std::sync::Arc;

/// Where a file is written before it gets its name: sealed, and merged.
pub(super) const ASIDE: [&str; 2] = ["KEYS.new", "KEYS.merged"];
/// Bytes of one write.
const WRITE_BYTES: usize = 256 << 10;
/// Pages that a merge reads from one file at once.
const READ_PAGES: u64 = 16;

/// A sequence of pages on their way into a file.
struct Pages {
    next: u64,
    buffer: Vec<u8>,
}

/// Takes keys in their order.
struct Writer<'d> {
    disk: &'d dyn Disk,
    aside: &'static str,
    file: Arc<dyn DiskFile>,
    heading: Heading,
    filter: Pages,
    block: Block,
    block_at: u64,
    blocks: Vec<u8>,
    entries: Pages,
    page: Vec<u8>,
    page_count: usize,
    /// The page of entries being filled.
    page_at: u64,
}

impl<'d> Writer<'d> {
    fn begin(disk: &'d dyn Disk, aside: &'static str, heading: Heading) -> Result<Self, Error> {
        Ok(Self {
            disk,
            aside,
            file: disk.create(aside)?,
            filter: Pages {
                next: 1,
                buffer: Vec::new(),
            },
            block: [0; BLOCK_WORDS],
            block_at: 0,
            blocks: Vec::with_capacity(ROOM_BYTES),
            entries: Pages {
                next: heading.entries_from(),
                buffer: Vec::new(),
            },
            page: vec![0; 2],
            page_count: 0,
            page_at: 0,
            heading,
        })
    }

    fn push(&mut self, entry: &KeyEntry) -> Result<(), Error> {
        let block_at = filter::part_of(&entry.key, self.heading.blocks);
        while self.block_at < block_at {
            self.end_block()?;
        }
        filter::set(&mut self.block, &entry.key);
        let home = filter::part_of(&entry.key, self.heading.homes);
        while self.page_at < home || self.page_count == ENTRIES_MAX {
            self.end_page()?;
        }
        self.page.extend_from_slice(&entry.key);
        self.page.extend_from_slice(&entry.sequence.to_le_bytes());
        self.page.extend_from_slice(&entry.value);
        self.page_count += 1;
        self.heading.count += 1;
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), Error> {
        for word in std::mem::take(&mut self.block) {
            self.blocks.extend_from_slice(&word.to_le_bytes());
        }
        self.block_at += 1;
        if self.blocks.len() == BLOCKS_PER_PAGE as usize * BLOCK_BYTES {
            self.end_filter_page()?;
        }
        Ok(())
    }

    fn end_filter_page(&mut self) -> Result<(), Error> {
        self.filter
            .add(self.heading, &self.blocks, self.file.as_ref())?;
        self.blocks.clear();
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), Error> {
        let count = (self.page_count as u16).to_le_bytes();
        if let Some(place) = self.page.get_mut(..2) {
            place.copy_from_slice(&count);
        }
        self.entries
            .add(self.heading, &self.page, self.file.as_ref())?;
        self.page.truncate(2);
        self.page_count = 0;
        self.page_at += 1;
        Ok(())
    }

    /// Makes the file durable under `name`.
    fn finish(mut self, name: String) -> Result<Run, Error> {
        while self.block_at < self.heading.blocks {
            self.end_block()?;
        }
        if !self.blocks.is_empty() {
            self.end_filter_page()?;
        }
        while self.page_at < self.heading.homes || self.page_count > 0 {
            self.end_page()?;
        }
        self.heading.entry_pages = self.page_at;
        self.filter.write(self.file.as_ref())?;
        self.entries.write(self.file.as_ref())?;
        self.file.write_at(&self.heading.encode(), 0)?;
        self.file.sync()?;
        self.disk.rename(self.aside, &name)?;
        self.disk.sync_folder()?;
        Ok(Run {
            name,
            file: self.file,
            heading: self.heading,
            is_damaged: Arc::default(),
            filter: None,
        })
    }
}

impl Pages {
    fn add(&mut self, heading: Heading, room: &[u8], file: &dyn DiskFile) -> Result<(), Error> {
        let number = self.next + (self.buffer.len() / PAGE_BYTES) as u64;
        page::write(&mut self.buffer, heading.place(number), room);
        if self.buffer.len() >= WRITE_BYTES {
            self.write(file)?;
        }
        Ok(())
    }

    fn write(&mut self, file: &dyn DiskFile) -> Result<(), Error> {
        file.write_at(&self.buffer, self.next * PAGE_BYTES as u64)?;
        self.next += (self.buffer.len() / PAGE_BYTES) as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// The file name of keys of records `first` to `last`.
pub(super) fn name_of(first: u64, last: u64) -> String {
    format!("{first:020}-{last:020}.keys")
}

/// Writes one list, which gets sorted. Of equal keys the newest stays.
///
/// # Errors
/// `Io`.
pub(super) fn seal(
    disk: &dyn Disk,
    lineage: u64,
    (first, last): (u64, u64),
    mut entries: Vec<KeyEntry>,
) -> Result<Run, Error> {
    entries.sort_unstable_by(|a, b| (a.key, b.sequence).cmp(&(b.key, a.sequence)));
    entries.dedup_by_key(|entry| entry.key);
    let heading = Heading::planned(lineage, first, last, entries.len() as u64);
    let [aside, _] = ASIDE;
    let mut writer = Writer::begin(disk, aside, heading)?;
    for entry in &entries {
        writer.push(entry)?;
    }
    writer.finish(name_of(first, last))
}

/// Writes neighbouring files as one. Of equal keys the newest stays; what is older than `keep_from`
/// goes, and the file then begins there. `breathe` is called between reads.
///
/// # Errors
/// `Io` and `Corrupt`.
pub(super) fn merge(
    disk: &dyn Disk,
    runs: &[Arc<Run>],
    keep_from: u64,
    breathe: &mut dyn FnMut(),
) -> Result<Option<Run>, Error> {
    let (Some(oldest), Some(newest)) = (runs.first(), runs.last()) else {
        return Ok(None);
    };
    let count = runs.iter().map(|run| run.heading.count).sum();
    let lineage = oldest.heading.lineage;
    let first = oldest.heading.first.max(keep_from);
    let last = newest.heading.last;
    let [_, aside] = ASIDE;
    let heading = Heading::planned(lineage, first, last, count);
    let mut writer = Writer::begin(disk, aside, heading)?;
    let mut sources: Vec<Source> = runs.iter().map(|run| Source::new(run)).collect();
    loop {
        let mut next: Option<KeyEntry> = None;
        for source in &mut sources {
            let Some(entry) = source.peek(breathe)? else {
                continue;
            };
            // Later files are newer, so that an equal key of theirs wins.
            if next.is_none_or(|next| entry.key <= next.key) {
                next = Some(entry);
            }
        }
        let Some(next) = next else { break };
        for source in &mut sources {
            source.pass(&next.key);
        }
        if next.sequence >= keep_from {
            writer.push(&next)?;
        }
    }
    writer.finish(name_of(first, last)).map(Some)
}

/// The entries of one file, in order.
struct Source<'r> {
    run: &'r Run,
    page: u64,
    buffer: Vec<u8>,
    read: std::collections::VecDeque<KeyEntry>,
}

impl<'r> Source<'r> {
    fn new(run: &'r Run) -> Self {
        Self {
            run,
            page: 0,
            buffer: Vec::new(),
            read: std::collections::VecDeque::new(),
        }
    }

    fn peek(&mut self, breathe: &mut dyn FnMut()) -> Result<Option<KeyEntry>, Error> {
        while self.read.is_empty() && self.page < self.run.heading.entry_pages {
            breathe();
            let count = READ_PAGES.min(self.run.heading.entry_pages - self.page);
            let number = self.run.heading.entries_from() + self.page;
            self.run.read(number, count as usize, &mut self.buffer)?;
            for page in self.buffer.chunks(PAGE_BYTES) {
                self.read.extend(run::entries(page));
            }
            self.page += count;
        }
        Ok(self.read.front().copied())
    }

    fn pass(&mut self, key: &[u8; 16]) {
        if self.read.front().is_some_and(|entry| entry.key == *key) {
            self.read.pop_front();
        }
    }
}
