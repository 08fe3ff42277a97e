//! Opening a folder: what was durable is all there, what was torn is cut, damage is named.
//!
//! Every record carries how far back the newest durable one was when it was written. A record that
//! can no longer be read was either never durable (then everything written after it says so, and it
//! is cut with them) or it was durable and is damaged (then a later record says so, and nothing
//! starts).

use crate::filler::Spare;
use crate::frame::{self, Scan};
use crate::journal::{Durability, Journal, Options};
use crate::listing::Listing;
use crate::manifest::{self, Manifest};
use crate::restore::RESTORING;
use crate::retention::Held;
use crate::segment::{self, Contents, HEADER_BYTES, Header, SPARE, Scanned, Segment};
use crate::shared::Shared;
use crate::{Disk, DiskFile, Error, checkpoint, retention, sidecar, zeros};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A body that ends in more zeros than this says nothing about the records before it. Without a bound,
/// every forged head in a torn body would have all the space behind it summed.
const ZEROS_MAX: u64 = 1 << 20;

/// What opening found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Segments that hold records.
    pub segments: usize,
    /// The newest sequence.
    pub last: u64,
    /// Bytes of torn tail that were cut, and of zeros behind it; no commit covered them.
    pub cut_bytes: u64,
    /// Segments that had to be read whole because their sidecar was missing or stale.
    pub rescanned: usize,
    /// Whether the epoch moved because acknowledged records may be gone.
    pub epoch_changed: bool,
}

pub(crate) fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Journal, Error> {
    let mut listing = Listing::of(disk.as_ref())?;
    let mut recovery = Recovery::default();
    let mut manifest = identify(disk.as_ref(), &options, &listing, &mut recovery)?;
    let has_leftovers = listing.leave_out_below(manifest.first);
    let opened = open_segments(disk.as_ref(), &listing.segments, &manifest, &mut recovery)?;
    let Opened {
        mut segments,
        next,
        tail,
    } = opened;
    if let Some((contents, found)) = &tail {
        prove(contents.file.as_ref(), found, options.durability)?;
    }
    // Only now: an attempt that ends above leaves the folder as it was left to it. And before the
    // first segment, so that segments are never without it.
    if listing.has(SPARE) {
        // What became of its bytes after a crash is not known, and writing new ones costs nobody time.
        disk.remove(SPARE)?;
    }
    for aside in [checkpoint::ASIDE, RESTORING] {
        if listing.has(aside) {
            disk.remove(aside)?;
        }
    }
    if has_leftovers {
        retention::remove_before(disk.as_ref(), manifest.first)?;
    }
    // Of a state that this journal is not in, and its sequences are given out again.
    for ahead in listing.checkpoints.iter().filter(|at| **at >= next) {
        disk.remove(&checkpoint::name_of(*ahead))?;
    }
    manifest.clean_last = None;
    manifest.durability = options.durability;
    manifest.write(disk.as_ref())?;
    let spare = Arc::new(Spare::default());
    let (active, contents) = match (segments.last(), tail) {
        (Some(last), Some((contents, _))) => (Arc::clone(last), contents),
        _ => {
            let header = Header {
                lineage: manifest.lineage,
                epoch: manifest.epoch,
                first: next,
                created_ms: options.now_ms,
            };
            let (active, contents) = Segment::create(disk.as_ref(), header, &spare)?;
            let active = Arc::new(active);
            segments.push(Arc::clone(&active));
            (active, contents)
        }
    };
    recovery.segments = segments.len();
    recovery.last = next - 1;
    let identity = (manifest.lineage, manifest.epoch);
    let now_ms = options.now_ms;
    let shared = Shared::new(Arc::clone(&disk), identity, segments, next - 1, now_ms);
    let held = Held {
        manifest,
        has_ended: false,
        has_leftovers: false,
    };
    Ok(Journal {
        disk,
        options,
        held: Arc::new(Mutex::new(held)),
        shared: Arc::new(shared),
        active,
        contents,
        spare,
        synced: Arc::new(AtomicU64::new(next - 1)),
        pending: Vec::new(),
        starts: Vec::new(),
        next,
        is_poisoned: Arc::default(),
        recovery,
        checkpoints: Arc::default(),
    })
}

/// What the segments of a folder hold.
struct Opened {
    segments: Vec<Arc<Segment>>,
    /// The next sequence.
    next: u64,
    /// The last segment's contents and what is known of them.
    tail: Option<(Arc<Contents>, Scanned)>,
}

/// Looks at every segment: at the last one's records, at the others' headers and sidecars.
fn open_segments(
    disk: &dyn Disk,
    names: &[(u64, String)],
    manifest: &Manifest,
    recovery: &mut Recovery,
) -> Result<Opened, Error> {
    let key = frame::key(manifest.lineage);
    // Memory closes without a sync, so its close says nothing about the disk.
    let clean_last = manifest
        .clean_last
        .filter(|_| manifest.durability != Durability::Memory);
    if names.is_empty() && manifest.first > 1 {
        let name = segment::name_of(manifest.first);
        return Err(Error::corrupt(&name, 0, "expected the first kept segment"));
    }
    let mut segments = Vec::with_capacity(names.len() + 1);
    let mut next = manifest.first;
    let mut tail = None;
    for (at, (first, name)) in names.iter().enumerate() {
        if *first != next {
            let what = "expected the segment that follows the one before";
            return Err(Error::corrupt(name, 0, what));
        }
        let file = disk.open(name)?;
        let after = names.get(at + 1).map(|(first, _)| *first);
        let header = match header(name, file.as_ref(), manifest, *first)? {
            Ok(header) => header,
            // A segment is durable before anything is written into it, so a torn header is a
            // creation that no commit ever followed.
            Err(what) => {
                let is_unused = after.is_none()
                    && clean_last.is_none()
                    && zeros::begin(file.as_ref(), HEADER_BYTES)? <= HEADER_BYTES;
                if !is_unused {
                    return Err(Error::corrupt(name, 0, what));
                }
                recovery.cut_bytes += file.len()?.min(HEADER_BYTES);
                // The only one is made anew under its name.
                if at > 0 {
                    disk.remove(name)?;
                    disk.sync_folder()?;
                }
                continue;
            }
        };
        let known = match after {
            Some(_) => sidecar::read(disk, *first, file.as_ref())?,
            None => None,
        };
        let is_rescanned = known.is_none() && after.is_some();
        recovery.rescanned += usize::from(is_rescanned);
        let found = match known {
            Some(found) => found,
            None => rescan(name, file.as_ref(), *first, after, clean_last, key)?,
        };
        if after.is_some() && found.last < *first {
            let what = "expected records in a closed segment";
            return Err(Error::corrupt(name, HEADER_BYTES, what));
        }
        next = found.last + 1;
        let segment = Segment::new(name.clone(), header, key, found.end);
        if after.is_none() {
            recovery.cut_bytes += cut(file.as_ref(), &found)?;
            *segment.written.lock() = file.len()?;
        } else if is_rescanned {
            // Zeros behind the records, when a crash brought them back after the segment was closed.
            file.truncate(found.end)?;
            sidecar::write(disk, *first, found.last, found.end, &found.sparse)?;
        }
        segments.push(Arc::new(segment));
        // Also of one that is not the last: an unused one behind it does not count.
        tail = Some((file, found));
    }
    if clean_last.is_some_and(|last| last != next - 1) {
        let name = names.last().map_or(manifest::NAME, |(_, name)| name);
        let end = segments.last().map_or(0, |segment| segment.end());
        let what = "expected the last record that was closed with";
        return Err(Error::corrupt(name, end, what));
    }
    let tail = tail.map(|(file, found)| {
        let contents = Arc::new(Contents::new(file, found.sparse.clone()));
        if let Some(last) = segments.last() {
            last.take_up(&contents);
        }
        (contents, found)
    });
    Ok(Opened {
        segments,
        next,
        tail,
    })
}

/// Reads every record of a segment, and refuses damage to what was durable. `after` is where the next
/// segment begins.
fn rescan(
    name: &str,
    file: &dyn DiskFile,
    first: u64,
    after: Option<u64>,
    clean_last: Option<u64>,
    key: u32,
) -> Result<Scanned, Error> {
    let mut found = segment::scan(file, first, key)?;
    let expected = after.map_or(clean_last, |after| Some(after - 1));
    let zeros_from = forgive_zeros(file, &mut found, expected)?;
    let may_be_torn = after.is_none() && clean_last.is_none();
    let torn_to = may_be_torn.then_some(zeros_from);
    check_damage(name, file, &found, torn_to, key)?;
    Ok(found)
}

/// The manifest to go on with. The epoch moves when a life that did not sync ended uncleanly: what it
/// acknowledged may be gone and its sequences may be given out again.
fn identify(
    disk: &dyn Disk,
    options: &Options,
    listing: &Listing,
    recovery: &mut Recovery,
) -> Result<Manifest, Error> {
    let fresh = Manifest {
        lineage: options.lineage,
        epoch: 1,
        created_ms: options.now_ms,
        clean_last: None,
        first: 1,
        durability: options.durability,
    };
    match Manifest::read(disk)? {
        Some(mut manifest) => {
            if manifest.clean_last.is_none() && manifest.durability != Durability::Fsync {
                manifest.epoch += 1;
                recovery.epoch_changed = true;
            }
            Ok(manifest)
        }
        None if listing.has(RESTORING) => Err(Error::Unfit(
            "a restore into this folder was not finished; run it again",
        )),
        None if listing.has(manifest::BACKUP) => Err(Error::Unfit(
            "this folder is a backup; restore it into another",
        )),
        None => match listing.segments.first() {
            None => Ok(fresh),
            // The manifest is written before the first segment, so it was taken away.
            Some((_, name)) => Err(Error::corrupt(
                name,
                0,
                "expected a MANIFEST beside the segments",
            )),
        },
    }
}

/// The header of a segment; the inner error says what is wrong with it here.
pub(crate) fn header(
    name: &str,
    file: &dyn DiskFile,
    manifest: &Manifest,
    first: u64,
) -> Result<Result<Header, &'static str>, Error> {
    Ok(match segment::read_header(name, file)? {
        Ok(header) if header.lineage != manifest.lineage => {
            Err("expected a segment of this journal")
        }
        Ok(header) if header.first != first => {
            Err("expected the first sequence of the file's name")
        }
        Ok(header) if header.epoch > manifest.epoch => {
            Err("expected an epoch up to the manifest's")
        }
        read => read,
    })
}

/// Zeros up to the end are space that was written ahead, unless records are known to be missing.
/// Returns where they begin.
pub(crate) fn forgive_zeros(
    file: &dyn DiskFile,
    found: &mut Scanned,
    expected_last: Option<u64>,
) -> Result<u64, Error> {
    if found.damage.is_none() {
        return Ok(found.end);
    }
    let zeros_from = zeros::begin(file, found.end)?;
    if zeros_from == found.end && expected_last.is_none_or(|last| last == found.last) {
        found.damage = None;
    }
    Ok(zeros_from)
}

/// Decides whether what the scan could not read was ever durable; `torn_to` is where a tail that may
/// be torn ends and only zeros are left.
fn check_damage(
    name: &str,
    file: &dyn DiskFile,
    found: &Scanned,
    torn_to: Option<u64>,
    key: u32,
) -> Result<(), Error> {
    let Some(what) = found.damage else {
        return Ok(());
    };
    let is_torn = match torn_to {
        Some(torn_to) => !witness(file, found, torn_to, key)?,
        None => false,
    };
    match is_torn {
        true => Ok(()),
        false => Err(Error::corrupt(name, found.end, what)),
    }
}

/// Looks behind the damage for a record that says that what is missing was durable.
pub(crate) fn witness(
    file: &dyn DiskFile,
    found: &Scanned,
    torn_to: u64,
    key: u32,
) -> Result<bool, Error> {
    let length = file.len()?;
    let behind = torn_to.saturating_add(ZEROS_MAX).min(length);
    let size = usize::try_from(behind.saturating_sub(found.end)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; size];
    let count = file.read_at(&mut bytes, found.end)?;
    bytes.truncate(count);
    let lost = found.last + 1;
    let mut at = 1;
    while at + frame::HEAD_BYTES <= bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let zeros = zeros::skip(rest);
        if zeros > 0 {
            at += zeros;
            continue;
        }
        // Cheap first: a plausible sequence, then the check sum.
        let is_plausible = frame::peek(rest).is_some_and(|(sequence, bytes)| {
            sequence > lost && sequence - lost <= length && bytes <= rest.len()
        });
        if is_plausible && let Scan::Whole(frame) = frame::scan(rest, key) {
            if frame.durable_before() >= lost {
                return Ok(true);
            }
            at += frame.bytes();
        } else {
            at += 1;
        }
    }
    Ok(false)
}

/// Cuts the torn tail; returns its length.
fn cut(file: &dyn DiskFile, found: &Scanned) -> Result<u64, Error> {
    if found.damage.is_none() {
        return Ok(0);
    }
    let torn = file.len()?.saturating_sub(found.end);
    if torn > 0 {
        file.truncate(found.end)?;
        file.sync()?;
    }
    Ok(torn)
}

/// Records of the last batch were read back, but perhaps only from the system's memory after a sync
/// that failed. They are written once more, so that what is served from now on is on the disk.
fn prove(file: &dyn DiskFile, found: &Scanned, durability: Durability) -> Result<(), Error> {
    if durability == Durability::Memory || found.unproven_from >= found.end {
        return Ok(());
    }
    let mut bytes = vec![0; usize::try_from(found.end - found.unproven_from).unwrap_or(usize::MAX)];
    file.read_at(&mut bytes, found.unproven_from)?;
    file.write_at(&bytes, found.unproven_from)?;
    file.sync()?;
    Ok(())
}
