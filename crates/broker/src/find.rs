//! Reading back: by id, by page, by place in the journal.

use crate::Entry;
use crate::gap::{Gap, GapReason, OnGap};
use crate::handle::Shared;
use crate::lane::Lane;
use crate::ring::Ring;
use crate::tail::unreadable;
use journal::{Cursor, CursorFault, Reader};
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

/// What one step through the file gives.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub entries: Vec<Arc<Entry>>,
    /// The last sequence looked at.
    pub position: u64,
    /// What is missing right after it; found only by a step that gives nothing else.
    pub hole: Option<Hole>,
}

/// Records that cannot be read any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    /// The last one.
    pub to: u64,
    pub reason: GapReason,
}

/// Bytes of the journal in the first file read: about what one answer takes, because the rest is read
/// again for the next.
const READ_BYTES_MIN: usize = 96 << 10;
/// Bytes of one file read after reads that gave nothing.
const READ_BYTES_MAX: usize = 1 << 20;
/// Bytes of the journal that one step looks at before others have their turn.
const STEP_BYTES_MAX: usize = 4 << 20;

/// Reads records `from..=until` and keeps up to `max` messages that pass `filter`, about
/// `bytes_max` bytes of them. Stops at the first file read that gave something, so that a reader far
/// behind is served as it goes, and after [`STEP_BYTES_MAX`], so that a long search lets others pass.
pub(crate) fn scan(
    reader: &Reader,
    filter: &Filter,
    from: u64,
    until: u64,
    max: usize,
    bytes_max: usize,
) -> Result<Scanned, Rejection> {
    let mut scanned = Scanned {
        position: from - 1,
        ..Scanned::default()
    };
    let (mut bytes, mut room, mut seen) = (READ_BYTES_MIN, bytes_max, 0);
    while scanned.entries.is_empty() && scanned.position < until && seen < STEP_BYTES_MAX {
        let records = records(reader, scanned.position + 1, usize::MAX, bytes)?;
        seen += bytes;
        bytes = (bytes * 2).min(READ_BYTES_MAX);
        scanned.hole = hole(&records, scanned.position);
        if records.is_empty() || scanned.hole.is_some() {
            break;
        }
        for record in &records {
            let is_full = scanned.entries.len() == max || room == 0;
            if record.sequence > until || is_full || record.kind == journal::LOST {
                return Ok(scanned);
            }
            scanned.position = record.sequence;
            if let Some(entry) = Entry::from_record(record)?
                && filter.matches(&entry.header)
            {
                room = room.saturating_sub(entry.envelope.len());
                scanned.entries.push(Arc::new(entry));
            }
        }
    }
    Ok(scanned)
}

/// What is missing between `position` and the first record that was read: the journal gives the first
/// it keeps, and in place of damaged ones it has markers.
fn hole(records: &[journal::Record], position: u64) -> Option<Hole> {
    let first = records.first()?;
    if first.sequence > position + 1 {
        let to = first.sequence - 1;
        let reason = GapReason::Retention;
        return Some(Hole { to, reason });
    }
    let is_lost = |record: &&journal::Record| record.kind == journal::LOST;
    let last = records.iter().take_while(is_lost).last()?;
    let (to, reason) = (last.sequence, GapReason::Lost);
    Some(Hole { to, reason })
}

/// Runs a step through the file when it is this connection's turn. Steps that are given up end with
/// the read that is under way.
pub(crate) async fn in_turn<T: Send + 'static>(
    shared: &Shared,
    lane: &Lane,
    step: impl FnOnce() -> Result<T, Rejection> + Send + 'static,
) -> Result<T, Rejection> {
    let own = Arc::clone(&lane.file_reads).acquire_owned().await;
    let of_all = Arc::clone(&shared.file_reads).acquire_owned().await;
    let run = move || {
        let _held = (own, of_all);
        step()
    };
    shared.aside(run).await
}

/// Records of the journal, the first kept ones when those before are not; the reader learns that it
/// failed, the log learns why.
pub(crate) fn records(
    reader: &Reader,
    from: u64,
    records_max: usize,
    bytes_max: usize,
) -> Result<Vec<journal::Record>, Rejection> {
    let mut read = reader.read(from, records_max, bytes_max);
    while let Err(journal::Error::Expired { first }) = read {
        read = reader.read(first, records_max, bytes_max);
    }
    read.map_err(|error| {
        tracing::error!(%error, "the journal cannot be read");
        unreadable()
    })
}

impl Shared {
    /// The sequence after which a reader starts. `latest` is the newest durable record. Where what
    /// follows is no longer kept, `on_gap` decides whether the reader starts there and is told.
    pub(crate) fn position(&self, from: &From, on_gap: OnGap) -> Result<u64, Rejection> {
        let (first, last) = self.reader.range();
        match from {
            From::Earliest => Ok(first - 1),
            From::Latest => Ok(last),
            From::Cursor(text) => match (self.reader.resolve(text), Cursor::parse(text), on_gap) {
                (Ok(sequence), _, _) => Ok(sequence),
                (Err(CursorFault::Unknown), _, _) => self.position_of_id(text),
                (Err(CursorFault::Expired), Some(cursor), OnGap::Skip) => Ok(cursor.sequence),
                (Err(fault), _, _) => Err(self.cursor_fault(text, fault)),
            },
            From::Time(moment) => {
                let position = self.position_of_time(*moment, first, last)?;
                if position + 1 < first && on_gap == OnGap::Fail {
                    return Err(self.cursor_fault(&moment.to_string(), CursorFault::Expired));
                }
                Ok(position)
            }
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
        // When everything that is kept is younger, so may be something that is not.
        Ok(if low == first { 0 } else { low - 1 })
    }

    fn message_at_or_after(&self, from: u64, below: u64) -> Result<Option<Arc<Entry>>, Rejection> {
        let everything = Filter::default();
        let (mut position, until) = (from - 1, below - 1);
        while position < until {
            let scanned = scan(&self.reader, &everything, position + 1, until, 1, 1)?;
            if let Some(entry) = scanned.entries.into_iter().next() {
                return Ok(Some(entry));
            }
            let next = scanned.hole.map_or(scanned.position, |hole| hole.to);
            if next == position {
                break;
            }
            position = next;
        }
        Ok(None)
    }

    fn cursor_fault(&self, text: &str, fault: CursorFault) -> Rejection {
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
        self.refuse_cursor(code, &format!("{what}, got {text:?}"))
    }

    /// The refusal of a reader that does not want to go on behind a gap.
    pub(crate) fn overtaken(&self, gap: &Gap) -> Rejection {
        let Gap {
            from, to, reason, ..
        } = gap;
        let missing = format!(
            "expected {from} to {to} to be still kept, got none of them ({})",
            reason.as_str()
        );
        self.refuse_cursor(Code::CursorExpired, &missing)
    }

    /// Says where reading is possible, in words and for programs.
    fn refuse_cursor(&self, code: Code, sentence: &str) -> Rejection {
        let (first, last) = self.reader.range();
        let earliest = self.reader.cursor(first.saturating_sub(1)).to_string();
        let head = self.reader.cursor(last).to_string();
        let detail = format!("{sentence}; valid cursors run from {earliest} to {head}");
        let fault = Fault::new(code, "", "ARCHITECTURE cursors", detail);
        Rejection::from(fault).between(earliest, head)
    }

    /// Everything published under an id, by any sender.
    pub(crate) fn by_id(&self, id: &str) -> Result<Found, Rejection> {
        let (sequences, applied) = self.candidates(|index| index.named(id))?;
        let mut found = Vec::new();
        let wanted = |header: &Header| *header.id == *id;
        for sequence in sequences {
            found.extend(self.entry(sequence)?.filter(|entry| wanted(&entry.header)));
        }
        let (_, last) = self.reader.range();
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
        self.ring.get(&[sequence], 1, &mut entries);
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
    ring.get(&[sequence], 1, &mut entries);
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
