//! Reading durable records from any place, beside the writer.

use crate::frame::{self, Scan};
use crate::segment::{self, Contents, Segment};
use crate::shared::Shared;
use crate::{Cursor, CursorFault, Error};
use bytes::Bytes;
use std::sync::Arc;

/// Least bytes of one file read, so that small steps do not become small reads.
const READ_BYTES_MIN: u64 = 4 << 10;

/// One durable record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place.
    pub sequence: u64,
    /// What the body is; see the writer's own list.
    pub kind: u8,
    /// The body; shares one buffer with its neighbours.
    pub body: Bytes,
}

/// What is known of one segment without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Its first sequence.
    pub first: u64,
    /// Its last durable sequence; one below `first` while the active segment is empty.
    pub last: u64,
    /// Bytes that its records take, with the header.
    pub bytes: u64,
    /// Not before this moment of the journal's time was its first record written, in milliseconds; see
    /// [`Reader::time_at`].
    pub begun_ms: i64,
    /// Not after this moment was its last record written: then the segment behind it was begun. Of
    /// the active segment, the moment that the writer was told last.
    pub written_ms: i64,
}

/// A reader; cheap to clone, usable from any thread. It sees durable records only.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(crate) shared: Arc<Shared>,
}

impl Reader {
    /// Records from sequence `from` on, in order: at most `records_max`, and about `bytes_max` bytes
    /// but at least one record if there is any. Empty at the end.
    ///
    /// # Errors
    /// [`Error::Expired`] when `from` is before the first kept record, [`Error::Io`], and
    /// [`Error::Corrupt`] when a record is no longer what was written.
    pub fn read(
        &self,
        from: u64,
        records_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Record>, Error> {
        let (first, last) = self.range();
        if from < first {
            return Err(Error::Expired { first });
        }
        if from > last || records_max == 0 {
            return Ok(Vec::new());
        }
        let Some(segment) = self.shared.holding(from) else {
            return self.expired_or(from, Ok(Vec::new()));
        };
        let read = self.read_segment(&segment, from, last, records_max, bytes_max);
        match read {
            Ok(_) => read,
            Err(Error::Corrupt { offset, what, .. }) => {
                let damage = self.blame(&segment, offset, what);
                self.expired_or(from, damage.and_then(Err))
            }
            Err(_) => self.expired_or(from, read),
        }
    }

    /// Names where the damage of a segment begins. Reading skips what it does not give out without
    /// looking at check sums, so it may stumble later than that.
    fn blame(
        &self,
        segment: &Arc<Segment>,
        offset: u64,
        what: &'static str,
    ) -> Result<Error, Error> {
        let contents = self.shared.contents(segment)?;
        let found = segment::scan(contents.file.as_ref(), segment.first, segment.key)?;
        Ok(match found.damage {
            Some(what) if found.end < segment.end() => {
                Error::corrupt(&segment.name, found.end, what)
            }
            Some(_) | None => Error::corrupt(&segment.name, offset, what),
        })
    }

    /// What stood in the way may be that the records were dropped in the meantime.
    fn expired_or<T>(&self, from: u64, otherwise: Result<T, Error>) -> Result<T, Error> {
        match self.range() {
            (first, _) if from < first => Err(Error::Expired { first }),
            _ => otherwise,
        }
    }

    fn read_segment(
        &self,
        segment: &Arc<Segment>,
        from: u64,
        last: u64,
        records_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Record>, Error> {
        let contents = self.shared.contents(segment)?;
        let end = segment.end();
        let (start, behind) = contents.locate(from, end);
        let wanted = (behind - start)
            .max(bytes_max as u64)
            .max(READ_BYTES_MIN)
            .min(end - start);
        let part = Part {
            segment,
            contents: &contents,
            from,
            last,
        };
        let mut records = part.read(start, wanted, records_max)?;
        if records.is_empty() {
            // The record is longer than the range; its own head says how long.
            let mut head = [0; frame::HEAD_BYTES];
            let mut at = start;
            while at < end && contents.file.read_at(&mut head, at)? == head.len() {
                let Some((sequence, bytes)) = frame::peek(&head) else {
                    break;
                };
                if sequence >= from {
                    // A damaged head may ask for more than there is.
                    let length = (bytes as u64).min(end.saturating_sub(at));
                    records = part.read(at, length, 1)?;
                    break;
                }
                at += bytes as u64;
            }
        }
        if records.is_empty() {
            return Err(Error::corrupt(
                &segment.name,
                start,
                "expected a record that was durable",
            ));
        }
        Ok(records)
    }

    /// The first kept and the last durable sequence; (1, 0) when there is nothing.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        self.shared.range()
    }

    /// Every segment, oldest first; the last is the active one.
    #[must_use]
    pub fn segments(&self) -> Vec<SegmentView> {
        self.shared.views()
    }

    /// The journal's time when the wall clock shows `now_ms`; both in milliseconds since 1970. It is the
    /// wall clock's, unless that was set back between two lives: then it goes on from the newest stamp
    /// in the journal. So a segment's age, from `written_ms` until now, is never more than the time
    /// that has passed, and grows while the journal is open.
    #[must_use]
    pub fn time_at(&self, now_ms: i64) -> i64 {
        self.shared.time_at(now_ms)
    }

    /// The cursor just after `sequence`.
    #[must_use]
    pub fn cursor(&self, sequence: u64) -> Cursor {
        Cursor {
            lineage: self.shared.lineage,
            epoch: self.shared.epoch,
            sequence,
        }
    }

    /// The sequence behind a cursor's text; reading goes on after it.
    ///
    /// # Errors
    /// Why this text is not a place to read from here.
    pub fn resolve(&self, text: &str) -> Result<u64, CursorFault> {
        let cursor = Cursor::parse(text).ok_or(CursorFault::Unknown)?;
        let (first, last) = self.range();
        if cursor.lineage != self.shared.lineage & 0xFFFF_FFFF {
            return Err(CursorFault::Foreign);
        }
        if cursor.epoch != self.shared.epoch {
            return Err(CursorFault::EpochChanged);
        }
        if cursor.sequence > last {
            return Err(CursorFault::Unknown);
        }
        if cursor.sequence + 1 < first {
            return Err(CursorFault::Expired);
        }
        Ok(cursor.sequence)
    }
}

/// What is read of one segment: the records from `from` up to `last`.
struct Part<'s> {
    segment: &'s Segment,
    contents: &'s Contents,
    from: u64,
    last: u64,
}

impl Part<'_> {
    fn read(&self, start: u64, length: u64, records_max: usize) -> Result<Vec<Record>, Error> {
        let (from, segment) = (self.from, self.segment);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut buffer = vec![0; length];
        let count = self.contents.file.read_at(&mut buffer, start)?;
        buffer.truncate(count);
        let bytes = Bytes::from(buffer);
        let mut records = Vec::with_capacity(records_max.min(count / 256 + 1));
        let mut at = 0;
        while records.len() < records_max {
            let rest = bytes.get(at..).unwrap_or_default();
            match frame::peek(rest) {
                // Skipped without its check sum: it is not given out.
                Some((sequence, length)) if sequence < from => {
                    at += length;
                    continue;
                }
                Some((sequence, _)) if sequence <= self.last => {}
                Some(_) | None => break,
            }
            match frame::scan(rest, segment.key) {
                Scan::Whole(found) => {
                    let expected = records
                        .last()
                        .map_or(from, |record: &Record| record.sequence + 1);
                    if found.sequence != expected {
                        let offset = start + at as u64;
                        return Err(Error::corrupt(
                            &segment.name,
                            offset,
                            "expected the next sequence",
                        ));
                    }
                    let body = at + frame::HEAD_BYTES;
                    records.push(Record {
                        sequence: found.sequence,
                        kind: found.kind,
                        body: bytes.slice(body..body + found.body.len()),
                    });
                    at += found.bytes();
                }
                Scan::Short { .. } => break,
                Scan::Damaged(what) => {
                    return Err(Error::corrupt(&segment.name, start + at as u64, what));
                }
            }
        }
        Ok(records)
    }
}
