//! One sealed file of keys in their order, and looking one up in it.
//!
//! Keys are digests, so where one stands follows from the key itself: its *home* is a page of about
//! three quarters full on average, and what does not fit goes on into the next page. A look-up reads
//! one page, rarely two, and nothing about single keys is kept in memory.

use super::KeyEntry;
use super::filter::{self, BLOCK_BYTES, BLOCK_WORDS, Block};
use super::page::{self, PAGE_BYTES, Place, ROOM_BYTES};
use crate::frame::array;
use crate::{Disk, DiskFile, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) const MAGIC: &[u8; 8] = b"IWJKEY01";
const VERSION: u16 = 1;
pub(super) const ENTRY_BYTES: usize = 40;
/// Entries of a full page.
pub(super) const ENTRIES_MAX: usize = (ROOM_BYTES - 2) / ENTRY_BYTES;
/// Entries that a page has on average; the rest takes what chance puts on top.
const ENTRIES_USUAL: u64 = 76;
/// Blocks of the filter in one page.
pub(super) const BLOCKS_PER_PAGE: u64 = (ROOM_BYTES / BLOCK_BYTES) as u64;

/// What the first page of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    pub lineage: u64,
    /// The file answers for every record from here...
    pub first: u64,
    /// ...to here.
    pub last: u64,
    pub count: u64,
    /// Blocks of the filter.
    pub blocks: u64,
    /// Pages that are a home.
    pub homes: u64,
    /// Pages of entries: the homes and what ran over the last.
    pub entry_pages: u64,
}

impl Heading {
    /// The shape of a file for at most `count_max` keys; counts are filled in at the end.
    pub(super) fn planned(lineage: u64, first: u64, last: u64, count_max: u64) -> Self {
        Self {
            lineage,
            first,
            last,
            count: 0,
            blocks: filter::blocks_for(count_max),
            homes: count_max.div_ceil(ENTRIES_USUAL).max(1),
            entry_pages: 0,
        }
    }

    pub(super) fn filter_pages(&self) -> u64 {
        self.blocks.div_ceil(BLOCKS_PER_PAGE)
    }

    /// The number of the first page of entries.
    pub(super) fn entries_from(&self) -> u64 {
        1 + self.filter_pages()
    }

    pub(super) fn place(&self, number: u64) -> Place {
        Place {
            lineage: self.lineage,
            first: self.first,
            number,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut room = Vec::with_capacity(PAGE_BYTES);
        room.extend_from_slice(MAGIC);
        room.extend_from_slice(&VERSION.to_le_bytes());
        room.extend_from_slice(&[0; 6]);
        for number in [
            self.lineage,
            self.first,
            self.last,
            self.count,
            self.blocks,
            self.homes,
            self.entry_pages,
        ] {
            room.extend_from_slice(&number.to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(PAGE_BYTES);
        page::write(&mut bytes, self.place(0), &room);
        bytes
    }

    /// Reads a first page; `None` when it is none of ours, or damaged.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(array(bytes, 16 + at * 8)?));
        let heading = Self {
            lineage: number(0)?,
            first: number(1)?,
            last: number(2)?,
            count: number(3)?,
            blocks: number(4)?,
            homes: number(5)?,
            entry_pages: number(6)?,
        };
        let is_ours = bytes.starts_with(MAGIC) && array(bytes, 8) == Some(VERSION.to_le_bytes());
        let is_sound = heading.homes > 0 && heading.blocks > 0 && heading.first <= heading.last;
        page::room(bytes, heading.place(0))?;
        (is_ours && is_sound).then_some(heading)
    }
}

/// One sealed file.
pub(super) struct Run {
    pub name: String,
    pub file: Arc<dyn DiskFile>,
    pub heading: Heading,
    /// Something in it was not what was written: it cannot be asked any more.
    pub is_damaged: Arc<AtomicBool>,
    /// The filter, when there is room for it in memory; otherwise it is read block by block.
    pub filter: Option<Box<[Block]>>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("name", &self.name)
            .field("heading", &self.heading)
            .finish_non_exhaustive()
    }
}

impl Run {
    /// Opens a file without its filter; the inner error says why it is of no use.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn open(
        disk: &dyn Disk,
        name: &str,
        lineage: u64,
    ) -> Result<Result<Self, &'static str>, Error> {
        let file = disk.open(name)?;
        let mut bytes = vec![0; PAGE_BYTES];
        file.read_at(&mut bytes, 0)?;
        let Some(heading) = Heading::decode(&bytes) else {
            return Ok(Err("its first page is damaged or of another version"));
        };
        if heading.lineage != lineage {
            return Ok(Err("it belongs to another journal"));
        }
        let pages = heading
            .entries_from()
            .saturating_add(heading.entry_pages)
            .saturating_mul(PAGE_BYTES as u64);
        if file.len()? < pages {
            return Ok(Err("it is shorter than its first page says"));
        }
        Ok(Ok(Self {
            name: name.to_owned(),
            file,
            heading,
            is_damaged: Arc::default(),
            filter: None,
        }))
    }

    /// The same file with its filter in memory, or without.
    ///
    /// # Errors
    /// As [`page::read`].
    pub(super) fn with_filter(&self, is_resident: bool) -> Result<Self, Error> {
        let filter = match is_resident {
            true => Some(self.read_filter()?),
            false => None,
        };
        Ok(Self {
            name: self.name.clone(),
            file: Arc::clone(&self.file),
            heading: self.heading,
            is_damaged: Arc::clone(&self.is_damaged),
            filter,
        })
    }

    fn read_filter(&self) -> Result<Box<[Block]>, Error> {
        const PAGES_AT_ONCE: u64 = 64;
        let pages = self.heading.filter_pages();
        let blocks = usize::try_from(self.heading.blocks).unwrap_or(usize::MAX);
        let mut filter = Vec::with_capacity(blocks.min(1 << 26));
        let mut buffer = Vec::new();
        let mut at = 0;
        while at < pages {
            let count = PAGES_AT_ONCE.min(pages - at) as usize;
            self.read(1 + at, count, &mut buffer)?;
            for page in buffer.chunks(PAGE_BYTES) {
                let room = page
                    .chunks_exact(BLOCK_BYTES)
                    .take(BLOCKS_PER_PAGE as usize);
                filter.extend(room.map(block_from));
            }
            at += count as u64;
        }
        filter.truncate(blocks);
        Ok(filter.into_boxed_slice())
    }

    pub(super) fn read(
        &self,
        number: u64,
        count: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let place = self.heading.place(number);
        let read = page::read(self.file.as_ref(), &self.name, place, count, buffer);
        if matches!(read, Err(Error::Corrupt { .. })) {
            self.is_damaged.store(true, Ordering::Release);
        }
        read
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    /// Bytes of its filter in memory.
    pub(super) fn filter_bytes(&self) -> u64 {
        self.heading.blocks * BLOCK_BYTES as u64
    }

    /// The entry under a key.
    ///
    /// # Errors
    /// As [`page::read`].
    pub(super) fn find(&self, key: &[u8; 16]) -> Result<Option<KeyEntry>, Error> {
        if !self.may_hold(key)? {
            return Ok(None);
        }
        let from = self.heading.entries_from();
        let mut buffer = Vec::new();
        for at in filter::part_of(key, self.heading.homes)..self.heading.entry_pages {
            self.read(from + at, 1, &mut buffer)?;
            let entries = entries(&buffer);
            let mut last = None;
            for entry in entries.clone() {
                if entry.key == *key {
                    return Ok(Some(entry));
                }
                last = Some(entry.key);
            }
            let runs_over = entries.len() == ENTRIES_MAX && last.is_some_and(|last| last < *key);
            if !runs_over {
                break;
            }
        }
        Ok(None)
    }

    fn may_hold(&self, key: &[u8; 16]) -> Result<bool, Error> {
        let at = filter::part_of(key, self.heading.blocks);
        if let Some(blocks) = &self.filter {
            let block = usize::try_from(at).ok().and_then(|at| blocks.get(at));
            return Ok(block.is_none_or(|block| filter::may_hold(block, key)));
        }
        let mut buffer = Vec::new();
        self.read(1 + at / BLOCKS_PER_PAGE, 1, &mut buffer)?;
        let start = (at % BLOCKS_PER_PAGE) as usize * BLOCK_BYTES;
        let bytes = buffer.get(start..start + BLOCK_BYTES);
        Ok(bytes.is_none_or(|bytes| filter::may_hold(&block_from(bytes), key)))
    }
}

fn block_from(bytes: &[u8]) -> Block {
    let mut block = [0; BLOCK_WORDS];
    for (word, bytes) in block.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(array(bytes, 0).unwrap_or_default());
    }
    block
}

/// The entries of a page of entries.
pub(super) fn entries(page: &[u8]) -> impl ExactSizeIterator<Item = KeyEntry> + Clone {
    let count = array(page, 0).map_or(0, u16::from_le_bytes);
    let count = usize::from(count).min(ENTRIES_MAX);
    let bytes = page.get(2..2 + count * ENTRY_BYTES).unwrap_or_default();
    bytes.chunks_exact(ENTRY_BYTES).map(|entry| KeyEntry {
        key: array(entry, 0).unwrap_or_default(),
        sequence: u64::from_le_bytes(array(entry, 16).unwrap_or_default()),
        value: array(entry, 24).unwrap_or_default(),
    })
}
