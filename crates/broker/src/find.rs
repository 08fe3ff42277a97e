//! Reading back: by id, by page, by place in the journal.

use crate::Entry;
use crate::handle::Shared;
use crate::ring::Ring;
use crate::tail::unreadable;
use journal::{CursorFault, Reader};
use protocol::{Code, Fault, Filter, Header, Party, Rejection, Timestamp};
use std::sync::Arc;

/// Where a reader starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// The first message that is kept.
    Earliest,
    /// Only what comes from now on.
    Latest,
    /// Just after this cursor.
    Cursor(String),
    /// The first message accepted at or after this moment.
    Time(Timestamp),
}

impl From {
    /// Reads `earliest`, `latest`, an RFC 3339 time, or else a cursor.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "earliest" => Self::Earliest,
            "latest" => Self::Latest,
            _ => match Timestamp::parse_rfc3339(text) {
                Some((moment, _)) => Self::Time(moment),
                None => Self::Cursor(text.to_owned()),
            },
        }
    }
}

/// Messages found by id: one per sender who used it.
pub type Found = Vec<Arc<Entry>>;

/// One page of the journal.
#[derive(Debug)]
pub struct Page {
    /// The messages.
    pub entries: Vec<Arc<Entry>>,
    /// Where the next page begins.
    pub next: journal::Cursor,
    /// Whether the page ends at the newest message.
    pub is_last: bool,
}

/// What a scan of the file gives.
pub(crate) struct Scanned {
    pub entries: Vec<Arc<Entry>>,
    /// The last sequence looked at.
    pub position: u64,
}

/// Bytes of the journal in the first file read: about what one answer takes, because the rest is read
/// again for the next.
const READ_BYTES_MIN: usize = 96 << 10;
/// Bytes of one file read after reads that gave nothing.
const READ_BYTES_MAX: usize = 1 << 20;

/// Reads records `from..=until` and keeps up to `max` messages that pass `filter`. Stops at the first
/// file read that gave something, so that a reader far behind is served as it goes.
pub(crate) fn scan(
    reader: &Reader,
    filter: &Filter,
    from: u64,
    until: u64,
    max: usize,
) -> Result<Scanned, Rejection> {
    let mut entries = Vec::new();
    let mut position = from - 1;
    let mut bytes = READ_BYTES_MIN;
    while entries.is_empty() && position < until {
        let records = records(reader, position + 1, usize::MAX, bytes)?;
        bytes = (bytes * 2).min(READ_BYTES_MAX);
        if records.is_empty() {
            break;
        }
        for record in &records {
            if record.sequence > until || entries.len() == max {
                return Ok(Scanned { entries, position });
            }
            position = record.sequence;
            if let Some(entry) = Entry::from_record(record)?
                && filter.matches(&entry.header)
            {
                entries.push(Arc::new(entry));
            }
        }
    }
    Ok(Scanned { entries, position })
}

/// Records of the journal; the reader learns that it failed, the log learns why. What was dropped
/// while somebody was reading up to it is no failure: the reader learns that it is too late.
fn records(
    reader: &Reader,
    from: u64,
    records_max: usize,
    bytes_max: usize,
) -> Result<Vec<journal::Record>, Rejection> {
    reader
        .read(from, records_max, bytes_max)
        .map_err(|error| match error {
            journal::Error::Expired { first } => expired(reader, from, first),
            error => {
                tracing::error!(%error, "the journal cannot be read");
                unreadable()
            }
        })
}

fn expired(reader: &Reader, from: u64, first: u64) -> Rejection {
    Fault::new(
        Code::CursorExpired,
        "",
        "ARCHITECTURE cursors",
        format!(
            "expected to read on from a record that is still kept, got record {from}; the oldest \
             cursor that is valid is {}",
            reader.cursor(first.saturating_sub(1))
        ),
    )
    .into()
}

impl Shared {
    /// The sequence after which a reader starts. `latest` is the newest durable record.
    pub(crate) fn position(&self, from: &From) -> Result<u64, Rejection> {
        let (first, last) = self.reader.range();
        match from {
            From::Earliest => Ok(first - 1),
            From::Latest => Ok(last),
            From::Cursor(text) => match self.reader.resolve(text) {
                Ok(sequence) => Ok(sequence),
                Err(CursorFault::Unknown) => self.position_of_id(text),
                Err(fault) => Err(self.cursor_fault(text, fault)),
            },
            From::Time(moment) => self.position_of_time(*moment, first, last),
        }
    }

    /// `Last-Event-ID` may be an envelope's id; then reading goes on after that envelope.
    fn position_of_id(&self, text: &str) -> Result<u64, Rejection> {
        match self.by_id(text)?.as_slice() {
            [only] => Ok(only.sequence),
            [] => Err(self.cursor_fault(text, CursorFault::Unknown)),
            several => Err(ambiguous(text, several)),
        }
    }

    fn position_of_time(&self, moment: Timestamp, first: u64, last: u64) -> Result<u64, Rejection> {
        let (mut low, mut high) = (first, last + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let at = self.message_at_or_after(middle, high)?;
            match at {
                Some(entry) if entry.at < moment => low = entry.sequence + 1,
                Some(_) | None => high = middle,
            }
        }
        Ok(low - 1)
    }

    fn message_at_or_after(&self, from: u64, below: u64) -> Result<Option<Arc<Entry>>, Rejection> {
        let everything = Filter::default();
        let scanned = scan(&self.reader, &everything, from, below - 1, 1)?;
        Ok(scanned.entries.into_iter().next())
    }

    fn cursor_fault(&self, text: &str, fault: CursorFault) -> Rejection {
        let (first, last) = self.reader.range();
        let range = format!(
            "valid cursors run from {} to {}",
            self.reader.cursor(first.saturating_sub(1)),
            self.reader.cursor(last)
        );
        let (code, what) = match fault {
            CursorFault::Unknown => (Code::CursorUnknown, "expected a cursor of this exchange"),
            CursorFault::Foreign => (
                Code::CursorForeign,
                "expected a cursor of this exchange, not of another",
            ),
            CursorFault::EpochChanged => (
                Code::CursorEpochChanged,
                "expected a cursor of this life of the journal",
            ),
            CursorFault::Expired => (Code::CursorExpired, "expected a cursor that is still kept"),
        };
        Fault::new(
            code,
            "",
            "ARCHITECTURE cursors",
            format!("{what}, got {text:?}; {range}"),
        )
        .into()
    }

    /// Everything published under an id, by any sender.
    pub(crate) fn by_id(&self, id: &str) -> Result<Found, Rejection> {
        let (sequences, applied) = self.index_by_id(id)?;
        let mut found = Vec::new();
        for sequence in sequences {
            found.extend(self.entry(sequence)?);
        }
        let (_, last) = self.reader.range();
        let wanted = |header: &Header| *header.id == *id;
        found.extend(newer(&self.reader, &self.ring, applied, last, &wanted)?);
        Ok(found)
    }

    /// One message by its place.
    pub(crate) fn entry(&self, sequence: u64) -> Result<Option<Arc<Entry>>, Rejection> {
        entry(&self.reader, &self.ring, sequence)
    }
}

/// Records that were read together because their neighbours are likely to be wanted next.
#[derive(Default)]
pub(crate) struct Chunk {
    records: Vec<journal::Record>,
}

/// Bytes of the journal that one chunk holds.
const CHUNK_BYTES: usize = 128 << 10;

impl Shared {
    /// One message by its place, from memory, from the chunk, or from the file with what follows it.
    pub(crate) fn entry_in(
        &self,
        chunk: &mut Chunk,
        sequence: u64,
    ) -> Result<Option<Arc<Entry>>, Rejection> {
        let mut entries = Vec::with_capacity(1);
        self.ring.get(&[sequence], &mut entries);
        if let Some(entry) = entries.pop() {
            return Ok(Some(entry));
        }
        let find = |chunk: &Chunk| {
            let records = &chunk.records;
            let at = records.binary_search_by_key(&sequence, |record| record.sequence);
            at.ok().and_then(|at| records.get(at).cloned())
        };
        let record = match find(chunk) {
            Some(record) => Some(record),
            None => {
                chunk.records = records(&self.reader, sequence, usize::MAX, CHUNK_BYTES)?;
                find(chunk)
            }
        };
        match record {
            Some(record) => Ok(Entry::from_record(&record)?.map(Arc::new)),
            None => Ok(None),
        }
    }
}

/// One message by its place, from memory or else from the file.
pub(crate) fn entry(
    reader: &Reader,
    ring: &Ring,
    sequence: u64,
) -> Result<Option<Arc<Entry>>, Rejection> {
    let mut entries = Vec::with_capacity(1);
    ring.get(&[sequence], &mut entries);
    if let Some(entry) = entries.pop() {
        return Ok(Some(entry));
    }
    if sequence < reader.range().0 {
        // The index may know of messages that were dropped.
        return Ok(None);
    }
    let records = records(reader, sequence, 1, 1)?;
    let record = records.first().filter(|record| record.sequence == sequence);
    match record {
        Some(record) => Ok(Entry::from_record(record)?.map(Arc::new)),
        None => Ok(None),
    }
}

/// The wanted messages after `applied`, up to `last`: the index follows the journal, and what it has
/// not seen yet is near the end. It may be far behind, so only what is wanted is kept in memory.
pub(crate) fn newer(
    reader: &Reader,
    ring: &Ring,
    applied: u64,
    last: u64,
    wanted: &dyn Fn(&Header) -> bool,
) -> Result<Found, Rejection> {
    if applied >= last {
        return Ok(Vec::new());
    }
    if let Some(mut entries) = ring.after(applied, usize::MAX) {
        entries.retain(|entry| wanted(&entry.header));
        return Ok(entries);
    }
    let mut found = Vec::new();
    let mut position = applied;
    while position < last {
        let records = records(reader, position + 1, 4_096, 1 << 20)?;
        let Some(end) = records.last() else { break };
        position = end.sequence;
        for record in &records {
            let entry = Entry::from_record(record)?.filter(|entry| wanted(&entry.header));
            found.extend(entry.map(Arc::new));
        }
    }
    Ok(found)
}

/// The one message with this id, as the caller narrowed it down.
pub(crate) fn only_one(
    id: &str,
    sender: Option<&Party>,
    mut found: Found,
) -> Result<Arc<Entry>, Rejection> {
    if let Some(sender) = sender {
        found.retain(|entry| entry.header.sender == *sender);
    }
    match found.as_slice() {
        [only] => Ok(Arc::clone(only)),
        [] => Err(Fault::new(
            Code::NotFound,
            "",
            "ARCHITECTURE messages",
            format!("expected the id of a stored message, got {id:?}"),
        )
        .into()),
        several => Err(ambiguous(id, several)),
    }
}

fn ambiguous(id: &str, several: &[Arc<Entry>]) -> Rejection {
    let senders: Vec<_> = several
        .iter()
        .map(|entry| entry.header.sender.as_str())
        .collect();
    Fault::new(
        Code::AmbiguousId,
        "",
        "ARCHITECTURE messages",
        format!(
            "expected ?sender= with the id {id:?}, which was used by {}",
            senders.join(", ")
        ),
    )
    .into()
}
