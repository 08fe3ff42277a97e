//! Copies of journal files into another folder, proven after they were written.

use crate::frame;
use crate::manifest::Manifest;
use crate::recovery::{self, forgive_zeros, witness};
use crate::segment::{self, HEADER_BYTES, Scanned};
use crate::{Disk, DiskFile, Error, sidecar, zeros};
use std::io;
use std::sync::Arc;

/// Bytes per read and write.
const PIECE_BYTES: usize = 4 << 20;
/// How often the end of a segment that somebody writes to is looked at again.
const LOOKS_MAX: usize = 100;

/// From one folder into another.
pub(crate) struct Copying<'d> {
    pub from: &'d dyn Disk,
    pub to: &'d dyn Disk,
    pub manifest: Manifest,
    /// Told how many bytes more were copied.
    pub progress: &'d mut dyn FnMut(u64),
}

/// The end of a segment whose records were proven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub last: u64,
    pub bytes: u64,
}

impl Copying<'_> {
    /// Copies a segment whose records must be there up to `after`, and makes its sidecar. None when
    /// it is gone.
    pub(crate) fn closed(
        &mut self,
        name: &str,
        first: u64,
        after: u64,
        with_sidecar: bool,
    ) -> Result<Option<Copied>, Error> {
        let Some(from) = self.open(name, first)? else {
            return Ok(None);
        };
        let to = self.to.create(name)?;
        self.range(from.as_ref(), to.as_ref(), 0)?;
        let mut behind = None;
        let mut found = segment::scan_from(
            to.as_ref(),
            (HEADER_BYTES, first),
            frame::key(self.manifest.lineage),
            &mut |offset, frame| {
                if frame.sequence == after {
                    behind = Some(offset);
                }
            },
        )?;
        if let Some(end) = behind {
            // A linked file went on to be written to; what was added since is of no backup.
            found.sparse.retain(|(sequence, _)| *sequence < after);
            (found.end, found.last, found.damage) = (end, after - 1, None);
        }
        forgive_zeros(to.as_ref(), &mut found, Some(after - 1))?;
        let what = match found.damage {
            None if found.last == after - 1 => None,
            None => Some("expected the record before the next segment"),
            damage => damage,
        };
        match what {
            Some(what) => Err(Error::corrupt(name, found.end, what)),
            None => self
                .finish(to.as_ref(), first, &found, with_sidecar)
                .map(Some),
        }
    }

    /// Copies the records of the last segment up to the newest whole one, perhaps while more are
    /// written. None when it is gone. One that was never used is not copied.
    pub(crate) fn tail(&mut self, name: &str, first: u64) -> Result<Option<Copied>, Error> {
        let from = match self.open(name, first) {
            Ok(Some(from)) => from,
            Ok(None) => return Ok(None),
            Err(Error::Corrupt { .. }) if self.is_unused(name)? => {
                return Ok(Some(Copied {
                    last: first - 1,
                    bytes: 0,
                }));
            }
            Err(error) => return Err(error),
        };
        let to = self.to.create(name)?;
        self.range(from.as_ref(), to.as_ref(), 0)?;
        let mut found = self.scan(to.as_ref(), first)?;
        for _ in 0..LOOKS_MAX {
            let zeros_from = forgive_zeros(to.as_ref(), &mut found, None)?;
            if found.damage.is_none() {
                break;
            }
            // A record that was being written may be whole by now.
            let (end, last) = (found.end, found.last);
            self.range(from.as_ref(), to.as_ref(), end)?;
            found = self.scan(to.as_ref(), first)?;
            let Some(what) = found.damage.filter(|_| found.last == last) else {
                continue;
            };
            let key = frame::key(self.manifest.lineage);
            if witness(to.as_ref(), &found, zeros_from.max(end), key)? {
                return Err(Error::corrupt(name, end, what));
            }
            break;
        }
        if self
            .manifest
            .clean_last
            .is_some_and(|last| found.last < last)
        {
            let what = found
                .damage
                .unwrap_or("expected the last record that was closed with");
            return Err(Error::corrupt(name, found.end, what));
        }
        self.finish(to.as_ref(), first, &found, false).map(Some)
    }

    /// Copies a file as it is. False when it is gone.
    pub(crate) fn whole(&mut self, name: &str) -> Result<bool, Error> {
        let from = match self.from.open(name) {
            Ok(from) => from,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let to = self.to.create(name)?;
        self.range(from.as_ref(), to.as_ref(), 0)?;
        to.sync()?;
        Ok(true)
    }

    /// Whether a segment whose header is torn holds nothing else, as before its first commit.
    fn is_unused(&self, name: &str) -> Result<bool, Error> {
        let file = self.from.open(name)?;
        let zeros_from = zeros::begin(file.as_ref(), HEADER_BYTES)?;
        Ok(self.manifest.clean_last.is_none() && zeros_from <= HEADER_BYTES)
    }

    /// Opens a segment whose header is right.
    fn open(&self, name: &str, first: u64) -> Result<Option<Arc<dyn DiskFile>>, Error> {
        let file = match self.from.open(name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match recovery::header(name, file.as_ref(), &self.manifest, first)? {
            Ok(_) => Ok(Some(file)),
            Err(what) => Err(Error::corrupt(name, 0, what)),
        }
    }

    fn scan(&self, to: &dyn DiskFile, first: u64) -> Result<Scanned, Error> {
        segment::scan(to, first, frame::key(self.manifest.lineage))
    }

    /// Copies from `start` to the end; what the copy had there goes.
    fn range(&mut self, from: &dyn DiskFile, to: &dyn DiskFile, start: u64) -> Result<(), Error> {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut at = start;
        to.truncate(start)?;
        loop {
            let count = from.read_at(&mut buffer, at)?;
            let read = buffer.get(..count).unwrap_or_default();
            to.write_at(read, at)?;
            (self.progress)(count as u64);
            at += count as u64;
            if count < buffer.len() {
                return Ok(());
            }
        }
    }

    /// Cuts what is behind the records, and makes the copy durable.
    fn finish(
        &self,
        to: &dyn DiskFile,
        first: u64,
        found: &Scanned,
        with_sidecar: bool,
    ) -> Result<Copied, Error> {
        to.truncate(found.end.max(HEADER_BYTES))?;
        to.sync()?;
        if with_sidecar {
            sidecar::write(self.to, first, found.last, found.end, &found.sparse)?;
        }
        Ok(Copied {
            last: found.last,
            bytes: found.end,
        })
    }
}
