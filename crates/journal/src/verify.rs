//! Looks at every byte of a folder that means something, and changes none.
//!
//! It reads the files beside whoever writes to them, so it works on a journal in use, at rest, and on
//! a backup. What is being written or dropped at that moment is not taken for damage.

use crate::checkpoint::{self, Checkpoint};
use crate::frame::{self, Frame, Scan};
use crate::listing::Listing;
use crate::manifest::{self, Manifest};
use crate::recovery::{self, forgive_zeros, witness};
use crate::segment::{self, HEADER_BYTES, Scanned};
use crate::{Disk, DiskFile, Error, Record, keys, sidecar, zeros};
use bytes::Bytes;
use std::io::ErrorKind;
use std::sync::Arc;

/// How often the end of a segment that somebody writes to is looked at again.
const LOOKS_MAX: usize = 100;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether something is lost or wrong; otherwise it costs time at most, and needs nothing done.
    pub is_damage: bool,
    /// The file.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// The record there, if it is about one.
    pub sequence: Option<u64>,
    /// What was expected and what was found.
    pub what: String,
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Which journal.
    pub lineage: u64,
    /// Which life of it.
    pub epoch: u32,
    /// The first kept sequence.
    pub first: u64,
    /// The last; one below `first` when there are no records.
    pub last: u64,
    /// Whole records.
    pub records: u64,
    /// Their bytes, with their segments' headers.
    pub bytes: u64,
    /// How many segments.
    pub segments: usize,
    /// How many usable checkpoints.
    pub checkpoints: usize,
}

/// Those who know what bodies mean: each says what is wrong with what it is shown.
pub struct Eyes<'e> {
    /// Is shown every whole record.
    pub record: &'e mut dyn FnMut(&Record) -> Option<String>,
    /// Is shown every whole checkpoint.
    pub state: &'e mut dyn FnMut(&Checkpoint) -> Option<String>,
}

impl std::fmt::Debug for Eyes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Eyes").finish_non_exhaustive()
    }
}

/// Looks at a folder. `report` is told of everything that is not as it should be, as it is found.
///
/// # Errors
/// When the folder cannot be read at all, or holds no journal. Damage is no error.
pub fn verify(
    disk: &dyn Disk,
    eyes: Eyes<'_>,
    report: &mut dyn FnMut(Finding),
) -> Result<Verified, Error> {
    let looked = match Listing::look(disk) {
        Ok(Some(looked)) => looked,
        Ok(None) => return Err(Error::Unfit("there is no journal in this folder")),
        Err(error) => return Err(error),
    };
    let (manifest, listing, has_leftovers) = looked;
    let mut verifying = Verifying {
        disk,
        manifest,
        eyes,
        report,
        verified: Verified {
            lineage: manifest.lineage,
            epoch: manifest.epoch,
            first: manifest.first,
            last: manifest.first - 1,
            ..Verified::default()
        },
        durable_before: 0,
        epoch: 0,
    };
    if has_leftovers {
        let what = format!(
            "there are files of dropped records before {}",
            manifest.first
        );
        verifying.note(manifest::NAME, 0, what);
    }
    verifying.segments(&listing)?;
    for sequence in &listing.checkpoints {
        verifying.checkpoint(*sequence)?;
    }
    for name in listing.names().iter().filter(|name| keys::is_file(name)) {
        verifying.keys(name)?;
    }
    Ok(verifying.verified)
}

struct Verifying<'v, 'e> {
    disk: &'v dyn Disk,
    manifest: Manifest,
    eyes: Eyes<'e>,
    report: &'v mut dyn FnMut(Finding),
    verified: Verified,
    /// By the record looked at last.
    durable_before: u64,
    /// Of the segment looked at last.
    epoch: u32,
}

impl Verifying<'_, '_> {
    fn note(&mut self, file: &str, offset: u64, what: String) {
        self.find(false, file, offset, None, what);
    }

    fn damage(&mut self, file: &str, offset: u64, sequence: Option<u64>, what: String) {
        self.find(true, file, offset, sequence, what);
    }

    fn find(
        &mut self,
        is_damage: bool,
        file: &str,
        offset: u64,
        sequence: Option<u64>,
        what: String,
    ) {
        (self.report)(Finding {
            is_damage,
            file: file.to_owned(),
            offset,
            sequence,
            what,
        });
    }

    fn segments(&mut self, listing: &Listing) -> Result<(), Error> {
        let mut next = self.manifest.first;
        for (at, (first, name)) in listing.segments.iter().enumerate() {
            if *first > next {
                let missing = segment::name_of(next);
                let what = format!("expected the segment of records {next} to {}", first - 1);
                self.damage(&missing, 0, Some(next), what);
            } else if *first < next {
                let what = format!("expected a segment that begins with record {next}");
                self.damage(name, 0, Some(*first), what);
            }
            let after = listing.segments.get(at + 1).map(|(first, _)| *first);
            next = self.segment(name, *first, after)?;
        }
        if listing.segments.is_empty() && self.manifest.first > 1 {
            let what = "expected the first kept segment".into();
            self.damage(&segment::name_of(next), 0, Some(next), what);
        }
        if let Some(last) = self.clean_last()?
            && last != self.verified.last
        {
            let what = format!(
                "expected {last} to be the last record, as it was when the journal was closed; got {}",
                self.verified.last
            );
            let file = listing.segments.last();
            let name = file.map_or(manifest::NAME, |(_, name)| name);
            self.damage(name, 0, Some(last), what);
        }
        Ok(())
    }

    /// One segment; returns the sequence that the next begins with.
    fn segment(&mut self, name: &str, first: u64, after: Option<u64>) -> Result<u64, Error> {
        let Some(file) = self.open(name, first)? else {
            return Ok(after.unwrap_or(first));
        };
        match recovery::header(name, file.as_ref(), &self.manifest, first) {
            Ok(Ok(header)) if header.epoch < self.epoch => {
                let what = format!(
                    "expected epoch {} or later, got {}",
                    self.epoch, header.epoch
                );
                self.damage(name, 0, None, what);
            }
            Ok(Ok(header)) => self.epoch = header.epoch,
            Ok(Err(what)) => {
                let zeros_from = zeros::begin(file.as_ref(), HEADER_BYTES)?;
                let is_closed = self.clean_last()?.is_some();
                if after.is_none() && !is_closed && zeros_from <= HEADER_BYTES {
                    let what = "this segment was never used; opening removes it".into();
                    self.note(name, 0, what);
                    return Ok(first);
                }
                self.damage(name, 0, None, what.into());
            }
            Err(Error::UnknownFormat { version, .. }) => {
                let what = format!("expected format version 1, got {version}");
                self.damage(name, 0, None, what);
                return Ok(after.unwrap_or(first));
            }
            Err(error) => return Err(error),
        }
        let (found, is_whole) = self.records(name, file.as_ref(), first, after)?;
        self.verified.segments += 1;
        self.verified.bytes += found.end;
        self.verified.last = found.last;
        if let Some(after) = after
            && is_whole
        {
            self.sidecar(first, after, &found)?;
        }
        Ok(after.unwrap_or(found.last + 1))
    }

    /// The file of a segment; none when it was dropped meanwhile, or is missing and reported.
    fn open(&mut self, name: &str, first: u64) -> Result<Option<Arc<dyn DiskFile>>, Error> {
        match self.disk.open(name) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !self.is_dropped(first)? {
                    self.damage(name, 0, Some(first), "the file is gone".into());
                }
                Ok(None)
            }
            Err(error) => {
                self.damage(name, 0, Some(first), format!("cannot be opened: {error}"));
                Ok(None)
            }
        }
    }

    /// The last record, when the journal is closed and stays so: somebody may have opened it.
    fn clean_last(&mut self) -> Result<Option<u64>, Error> {
        if self.manifest.clean_last.is_some()
            && let Some(now) = Manifest::read(self.disk)?
        {
            self.manifest.clean_last = now.clean_last;
        }
        Ok(self.manifest.clean_last)
    }

    fn is_dropped(&self, first: u64) -> Result<bool, Error> {
        let now = Manifest::read(self.disk)?;
        Ok(now.is_some_and(|now| first < now.first))
    }

    /// Every record of a segment, also behind damage. Returns where the records end, and whether all
    /// are there.
    fn records(
        &mut self,
        name: &str,
        file: &dyn DiskFile,
        first: u64,
        after: Option<u64>,
    ) -> Result<(Scanned, bool), Error> {
        let key = frame::key(self.manifest.lineage);
        let mut found = self.scan(name, file, (HEADER_BYTES, first))?;
        let mut is_whole = true;
        let mut looks = 0;
        loop {
            let clean_last = self.clean_last()?;
            let expected = after.map_or(clean_last, |after| Some(after - 1));
            let zeros_from = forgive_zeros(file, &mut found, expected)?;
            let Some(what) = found.damage else { break };
            let place = (found.end, found.last + 1);
            let again = self.scan(name, file, place)?;
            if again.last >= place.1 && looks < LOOKS_MAX {
                // It was being written when it was looked at first.
                looks += 1;
                found = joined(found, again);
                continue;
            }
            let is_torn = after.is_none()
                && clean_last.is_none()
                && !witness(file, &found, zeros_from.max(found.end), key)?;
            if is_torn {
                let what = format!(
                    "{} bytes of records that were never acknowledged; opening cuts them",
                    zeros_from.saturating_sub(found.end)
                );
                self.note(name, found.end, what);
                break;
            }
            is_whole = false;
            let Some((offset, sequence)) = next_record(file, place, key)? else {
                let what = match expected {
                    Some(last) if last > place.1 => {
                        format!("{what}; records {} to {last} are lost", place.1)
                    }
                    _ => format!("{what}; record {} is lost", place.1),
                };
                self.damage(name, place.0, Some(place.1), what);
                break;
            };
            let lost = match sequence - place.1 {
                0 => String::new(),
                1 => format!("; record {} is lost", place.1),
                _ => format!("; records {} to {} are lost", place.1, sequence - 1),
            };
            self.damage(name, place.0, Some(place.1), format!("{what}{lost}"));
            let rest = self.scan(name, file, (offset, sequence))?;
            found = joined(found, rest);
        }
        let missing = after.filter(|after| is_whole && found.last + 1 != *after);
        if let Some(after) = missing {
            is_whole = false;
            let what = format!("expected record {} before the next segment", after - 1);
            self.damage(name, found.end, Some(found.last + 1), what);
        }
        if found.end < file.len()? && after.is_some() && is_whole {
            let what = "zeros behind the last record; opening cuts them".into();
            self.note(name, found.end, what);
        }
        Ok((found, is_whole))
    }

    /// Shows records to who can read them, and checks that what each says of the ones before it can be true.
    fn scan(
        &mut self,
        name: &str,
        file: &dyn DiskFile,
        place: (u64, u64),
    ) -> Result<Scanned, Error> {
        let key = frame::key(self.manifest.lineage);
        let (see, report) = (&mut *self.eyes.record, &mut *self.report);
        let (durable_before, verified) = (&mut self.durable_before, &mut self.verified);
        segment::scan_from(file, place, key, &mut |offset, frame: &Frame<'_>| {
            verified.records += 1;
            let mut wrong = |what| {
                report(Finding {
                    is_damage: true,
                    file: name.to_owned(),
                    offset,
                    sequence: Some(frame.sequence),
                    what,
                });
            };
            let says = frame.durable_before();
            // A distance that does not fit its field says less than it could.
            if says < *durable_before && frame.back < u32::MAX {
                wrong(format!(
                    "it says that {says} was the newest durable record before it; expected record {} \
                     or a later one to be durable before it",
                    *durable_before
                ));
            }
            *durable_before = says.max(*durable_before);
            let record = Record {
                sequence: frame.sequence,
                kind: frame.kind,
                body: Bytes::copy_from_slice(frame.body),
            };
            if let Some(what) = see(&record) {
                wrong(what);
            }
        })
    }

    fn sidecar(&mut self, first: u64, after: u64, found: &Scanned) -> Result<(), Error> {
        let name = sidecar::name_of(first);
        let expected = sidecar::encode(first, after - 1, found.end, &found.sparse);
        let file = match self.disk.open(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !self.is_dropped(first)? {
                    let what = "the sidecar is missing; the next start reads its segment".into();
                    self.note(&name, 0, what);
                }
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let mut bytes = vec![0; expected.len() + 1];
        let count = file.read_at(&mut bytes, 0)?;
        bytes.truncate(count);
        if bytes != expected {
            let both = bytes.iter().zip(&expected);
            let same = both.take_while(|(is, should)| is == should).count();
            let what = "expected the sidecar that the segment's records give".into();
            self.damage(&name, same as u64, None, what);
        }
        Ok(())
    }

    fn checkpoint(&mut self, sequence: u64) -> Result<(), Error> {
        let manifest = self.manifest;
        match checkpoint::read(self.disk, sequence, manifest.lineage, manifest.epoch) {
            Ok(body) => {
                self.verified.checkpoints += 1;
                let checkpoint = Checkpoint { sequence, body };
                if let Some(what) = (self.eyes.state)(&checkpoint) {
                    self.damage(&checkpoint::name_of(sequence), 0, Some(sequence), what);
                }
            }
            Err(unusable) if checkpoint::sequences(self.disk)?.contains(&sequence) => {
                self.damage(
                    &unusable.file,
                    unusable.offset,
                    Some(sequence),
                    unusable.what,
                );
            }
            // Newer ones have taken its place.
            Err(_) => {}
        }
        Ok(())
    }

    /// A file of keys: whether all its pages are what was written.
    fn keys(&mut self, name: &str) -> Result<(), Error> {
        let (offset, what) = match keys::check(self.disk, name, self.manifest.lineage) {
            Ok(None) => return Ok(()),
            Ok(Some(damage)) => damage,
            Err(Error::Io(error)) => (0, format!("cannot be read: {error}")),
            Err(error) => return Err(error),
        };
        // Files of keys are merged into others while the journal is in use.
        if Listing::of(self.disk)?.has(name) {
            self.damage(name, offset, None, what);
        }
        Ok(())
    }
}

/// Two scans, one going on where the other had to stop.
fn joined(before: Scanned, mut behind: Scanned) -> Scanned {
    let mut sparse = before.sparse;
    sparse.append(&mut behind.sparse);
    Scanned { sparse, ..behind }
}

/// The next whole record behind a place where there is none, of that sequence or a later one.
fn next_record(
    file: &dyn DiskFile,
    (from, sequence): (u64, u64),
    key: u32,
) -> Result<Option<(u64, u64)>, Error> {
    let length = file.len()?;
    let size = usize::try_from(length.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; size];
    let count = file.read_at(&mut bytes, from)?;
    bytes.truncate(count);
    let mut at = 0;
    while let Some(rest) = bytes
        .get(at..)
        .filter(|rest| rest.len() >= frame::HEAD_BYTES)
    {
        let zeros = zeros::skip(rest);
        if zeros > 0 {
            at += zeros;
            continue;
        }
        let is_plausible = frame::peek(rest).is_some_and(|(found, bytes)| {
            found >= sequence && found - sequence <= length && bytes <= rest.len()
        });
        if is_plausible && let Scan::Whole(frame) = frame::scan(rest, key) {
            return Ok(Some((from + at as u64, frame.sequence)));
        }
        at += 1;
    }
    Ok(None)
}
