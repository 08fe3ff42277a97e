//! One segment file: a 64-byte header, then records. Layout in `docs/format.md`, section 2.
//!
//! There may be very many, so of a closed one only its place and length stay in memory; its file and
//! the places of its records are taken up when somebody reads it.

use crate::filler::Spare;
use crate::frame::{self, Frame, Scan, array};
use crate::manifest::FORMAT_VERSION;
use crate::{Disk, DiskFile, Error};
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes before the first record.
pub(crate) const HEADER_BYTES: u64 = 64;
/// One sparse entry per this many bytes.
const SPARSE_BYTES: u64 = 32 << 10;
/// Bytes per read when a segment is scanned.
const SCAN_BYTES: usize = 4 << 20;
const MAGIC: &[u8; 8] = b"IWJSEG01";

/// The file name of a file of zeros that becomes the next segment.
pub(crate) const SPARE: &str = "SPARE";

/// What a segment's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub lineage: u64,
    pub epoch: u32,
    pub first: u64,
    pub created_ms: i64,
}

/// One segment. The writer appends; readers see what `end` covers.
pub(crate) struct Segment {
    pub name: String,
    pub first: u64,
    /// By the wall clock that the writer was told.
    pub begun_ms: i64,
    /// See [`frame::key`].
    pub key: u32,
    /// Bytes that readers may look at.
    end: AtomicU64,
    /// Bytes that were written, records and zeros ahead of them. Held while any are written.
    pub written: Mutex<u64>,
    /// Always there of the active segment; see [`crate::shared::Shared::contents`].
    contents: RwLock<Option<Arc<Contents>>>,
}

/// A segment's file, and where records stand in it.
pub(crate) struct Contents {
    pub file: Arc<dyn DiskFile>,
    /// Sequence and offset of a record, at least every [`SPARSE_BYTES`].
    sparse: RwLock<Vec<(u64, u64)>>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment")
            .field("name", &self.name)
            .field("end", &self.end)
            .finish()
    }
}

/// The file name of the segment that begins with `first`.
pub(crate) fn name_of(first: u64) -> String {
    format!("{first:020}.seg")
}

/// The first sequence of a segment's file name; `None` for other files.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    let first = name.strip_suffix(".seg")?.parse().ok()?;
    (first > 0 && name_of(first) == name).then_some(first)
}

impl Segment {
    /// Creates a segment, durable with its name before anything is written into it.
    /// It is made of the spare when that is ready.
    pub(crate) fn create(
        disk: &dyn Disk,
        header: Header,
        spare: &Spare,
    ) -> Result<(Self, Arc<Contents>), Error> {
        let name = name_of(header.first);
        let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
        bytes.extend_from_slice(&header.epoch.to_le_bytes());
        bytes.extend_from_slice(&header.lineage.to_le_bytes());
        bytes.extend_from_slice(&header.first.to_le_bytes());
        bytes.extend_from_slice(&header.created_ms.to_le_bytes());
        bytes.resize(HEADER_BYTES as usize - 4, 0);
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        let file = if spare.take(disk, &name)? {
            disk.open(&name)?
        } else {
            disk.create(&name)?
        };
        file.write_at(&bytes, 0)?;
        file.sync()?;
        disk.sync_folder()?;
        let key = frame::key(header.lineage);
        let written = file.len()?;
        let created = Self::new(name, header, key, HEADER_BYTES);
        *created.written.lock() = written;
        let contents = Arc::new(Contents::new(file, Vec::new()));
        created.take_up(&contents);
        Ok((created, contents))
    }

    pub(crate) fn new(name: String, header: Header, key: u32, end: u64) -> Self {
        Self {
            name,
            first: header.first,
            begun_ms: header.created_ms,
            key,
            end: AtomicU64::new(end),
            written: Mutex::new(end),
            contents: RwLock::default(),
        }
    }

    /// Its file and places, while they are taken up.
    pub(crate) fn contents(&self) -> Option<Arc<Contents>> {
        self.contents.read().clone()
    }

    pub(crate) fn take_up(&self, contents: &Arc<Contents>) {
        *self.contents.write() = Some(Arc::clone(contents));
    }

    pub(crate) fn put_down(&self) {
        *self.contents.write() = None;
    }

    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Lets readers see up to `end`.
    pub(crate) fn publish(&self, end: u64) {
        self.end.store(end, Ordering::Release);
    }
}

impl Contents {
    pub(crate) fn new(file: Arc<dyn DiskFile>, sparse: Vec<(u64, u64)>) -> Self {
        Self {
            file,
            sparse: RwLock::new(sparse),
        }
    }

    /// Notes where a record stands, if the last note is far enough back.
    pub(crate) fn note(&self, sequence: u64, offset: u64) {
        let is_due =
            |last: Option<&(u64, u64)>| last.is_none_or(|(_, at)| offset - at >= SPARSE_BYTES);
        if is_due(self.sparse.read().last()) {
            self.sparse.write().push((sequence, offset));
        }
    }

    pub(crate) fn sparse(&self) -> Vec<(u64, u64)> {
        self.sparse.read().clone()
    }

    /// Where to begin reading for `sequence`, and a place safely behind it, at `end` the latest.
    pub(crate) fn locate(&self, sequence: u64, end: u64) -> (u64, u64) {
        let sparse = self.sparse.read();
        let after = sparse.partition_point(|(noted, _)| *noted <= sequence);
        let start = after
            .checked_sub(1)
            .and_then(|at| sparse.get(at))
            .map_or(HEADER_BYTES, |e| e.1);
        let behind = sparse.get(after).map_or(end, |entry| entry.1);
        (start, behind)
    }
}

/// Reads a header; the inner error says what is wrong with it.
pub(crate) fn read_header(
    name: &str,
    file: &dyn DiskFile,
) -> Result<Result<Header, &'static str>, Error> {
    let mut bytes = [0; HEADER_BYTES as usize];
    let count = file.read_at(&mut bytes, 0)?;
    if count < bytes.len() {
        return Ok(Err("expected a segment header of 64 bytes"));
    }
    let crc = array(&bytes, 60).map(u32::from_le_bytes);
    if !bytes.starts_with(MAGIC) || crc != Some(crc32c::crc32c(bytes.get(..60).unwrap_or_default()))
    {
        return Ok(Err("expected a segment header with a check sum that fits"));
    }
    let fields = || {
        Some((
            u16::from_le_bytes(array(&bytes, 8)?),
            Header {
                epoch: u32::from_le_bytes(array(&bytes, 12)?),
                lineage: u64::from_le_bytes(array(&bytes, 16)?),
                first: u64::from_le_bytes(array(&bytes, 24)?),
                created_ms: i64::from_le_bytes(array(&bytes, 32)?),
            },
        ))
    };
    match fields() {
        Some((FORMAT_VERSION, header)) => Ok(Ok(header)),
        Some((version, _)) => Err(Error::UnknownFormat {
            file: name.to_owned(),
            version,
        }),
        None => Ok(Err("expected a segment header")),
    }
}

/// What a scan over a segment's records found.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    /// Where the last good record ends.
    pub end: u64,
    /// Its sequence; one below the segment's first when there is none.
    pub last: u64,
    /// The sequence that was durable when the last good record was written.
    pub durable_before: u64,
    /// Where the first record stands that is newer than `durable_before`.
    pub unproven_from: u64,
    pub sparse: Vec<(u64, u64)>,
    /// Why the scan stopped before the end of the file.
    pub damage: Option<&'static str>,
}

/// Reads every record from the start, in order, until the end or the first that is not right.
pub(crate) fn scan(file: &dyn DiskFile, first: u64, key: u32) -> Result<Scanned, Error> {
    scan_from(file, (HEADER_BYTES, first), key, &mut |_, _| {})
}

/// As [`scan`], from the offset of a sequence on, showing each record with its offset.
pub(crate) fn scan_from(
    file: &dyn DiskFile,
    (start, first): (u64, u64),
    key: u32,
    see: &mut dyn FnMut(u64, &Frame<'_>),
) -> Result<Scanned, Error> {
    let length = file.len()?;
    let mut found = Scanned {
        end: start,
        last: first - 1,
        ..Scanned::default()
    };
    // Those newer than `durable_before`: without a sync between them they can be all there are.
    let mut starts: VecDeque<(u64, u64)> = VecDeque::new();
    let mut buffer = vec![0; SCAN_BYTES.min(usize::try_from(length).unwrap_or(SCAN_BYTES))];
    let mut have = 0;
    let mut base = start;
    loop {
        let room = buffer.get_mut(have..).unwrap_or_default();
        let count = file.read_at(room, base + have as u64)?;
        // Perhaps earlier than its length said: a writer beside this reader may cut zeros.
        let has_ended = count < room.len();
        have += count;
        let mut at = 0;
        let mut needs = 0;
        loop {
            match frame::scan(buffer.get(at..have).unwrap_or_default(), key) {
                Scan::Whole(frame) if frame.sequence == found.last + 1 => {
                    let offset = base + at as u64;
                    if found
                        .sparse
                        .last()
                        .is_none_or(|(_, noted)| offset - noted >= SPARSE_BYTES)
                    {
                        found.sparse.push((frame.sequence, offset));
                    }
                    see(offset, &frame);
                    found.last = frame.sequence;
                    found.durable_before = frame.durable_before();
                    while starts
                        .front()
                        .is_some_and(|(at, _)| *at <= found.durable_before)
                    {
                        starts.pop_front();
                    }
                    starts.push_back((frame.sequence, offset));
                    at += frame.bytes();
                    found.end = base + at as u64;
                }
                Scan::Whole(_) => {
                    found.damage = Some("expected the next sequence");
                    break;
                }
                Scan::Short { needs: bytes } => {
                    needs = bytes;
                    break;
                }
                Scan::Damaged(what) => {
                    found.damage = Some(what);
                    break;
                }
            }
        }
        buffer.copy_within(at..have, 0);
        have -= at;
        base += at as u64;
        if buffer.len() < needs {
            buffer.resize(needs, 0);
        }
        if found.damage.is_some() || has_ended || base + have as u64 >= length {
            break;
        }
    }
    if found.damage.is_none() && found.end < length {
        found.damage = Some("expected a whole record");
    }
    found.unproven_from = starts.front().map_or(found.end, |(_, offset)| *offset);
    Ok(found)
}
