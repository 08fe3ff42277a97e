//! Feeds the look-up index behind the journal. Never on the way to a receipt.

use crate::Entry;
use crate::handle::Shared;
use crate::tail::unreadable;
use exchange::{Ending, Record};
use journal::{Fact, Index, Rows};
use protocol::{Header, Rejection};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Records per transaction. A large one touches each page of the index once for many rows: with this
/// many it is three times as fast as with 4,096.
const ROWS_MAX: u64 = 131_072;
/// Records per read.
const READ_MAX: usize = 4_096;
/// Bytes per read.
const BYTES_MAX: usize = 4 << 20;
/// When a quarter of the index, and at least this many messages, are about what the journal no longer
/// holds, the index forgets them.
const FORGET_MIN: u64 = 100_000;
/// How often the index looks for news. Rows in one transaction cost a fraction of rows one by one.
const EVERY: Duration = Duration::from_secs(1);
/// With more news than this in one period the exchange is busy, and the index waits: it competes for
/// the processors with what people wait for.
const BUSY_RECORDS: u64 = 5_000;
/// Until it is this far behind; a look-up reads what the index has not seen from the journal, about a
/// million records a second. Then it takes a share of each period, so that the lag grows slower.
const LAG_RECORDS_MAX: u64 = 2_000_000;
/// That share.
const BUSY_SHARE: Duration = Duration::from_millis(250);

/// Follows the journal until its writer is gone. What is missing then is added after the next start.
pub(crate) fn run(shared: &Arc<Shared>, mut writer: Index, alive: &Receiver<()>) {
    let mut seen = shared.reader.range().1;
    let mut trouble = Trouble::default();
    while alive.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let (_, last) = shared.reader.range();
        let is_busy = last - seen > BUSY_RECORDS;
        seen = last;
        let lag = last.saturating_sub(writer.applied());
        shared
            .meter
            .index_lag
            .set(i64::try_from(lag).unwrap_or(i64::MAX));
        if !is_busy {
            follow(shared, &mut writer, &mut trouble, Instant::now() + EVERY);
        } else if lag > LAG_RECORDS_MAX {
            let deadline = Instant::now() + BUSY_SHARE;
            follow(shared, &mut writer, &mut trouble, deadline);
        }
    }
}

/// Brings the index up to the newest durable record, however long that takes.
pub(crate) fn follow_all(shared: &Arc<Shared>, writer: &mut Index) {
    const LONG: Duration = Duration::from_secs(1 << 30);
    let mut trouble = Trouble::default();
    follow(shared, writer, &mut trouble, Instant::now() + LONG);
}

/// Brings the index up to the newest durable record, or as far as it comes until `deadline`; then
/// forgets.
fn follow(shared: &Arc<Shared>, writer: &mut Index, trouble: &mut Trouble, deadline: Instant) {
    while Instant::now() < deadline {
        let (first, last) = shared.reader.range();
        let applied = writer.applied().max(first.saturating_sub(1));
        let done = if applied < last {
            add(
                shared,
                writer,
                trouble,
                applied,
                last.min(applied + ROWS_MAX),
            )
        } else {
            forget(writer, first, last)
        };
        if !done {
            return;
        }
    }
}

/// Says once that the index does not go on, and once that it does again; it tries every second.
#[derive(Default)]
struct Trouble(Option<&'static str>);

impl Trouble {
    fn tell(&mut self, error: &dyn std::error::Error, what: &'static str) {
        if self.0.replace(what) != Some(what) {
            tracing::error!(%error, "{what}");
        }
    }

    fn is_over(&mut self) {
        if self.0.take().is_some() {
            tracing::warn!("the index goes on");
        }
    }
}

/// Adds the records after `applied` up to `until` in one transaction; false when that is not possible.
fn add(
    shared: &Arc<Shared>,
    writer: &mut Index,
    trouble: &mut Trouble,
    applied: u64,
    until: u64,
) -> bool {
    let mut rows = writer.rows();
    let mut position = applied;
    while position < until {
        let wanted = usize::try_from(until - position).unwrap_or(READ_MAX);
        let records = match shared
            .reader
            .read(position + 1, wanted.min(READ_MAX), BYTES_MAX)
        {
            Ok(records) => records,
            Err(error) => {
                trouble.tell(&error, "the index cannot read the journal");
                return false;
            }
        };
        let Some(end) = records.last().map(|record| record.sequence) else {
            break;
        };
        for record in &records {
            // It has been logged; without it the index would say that there is no such message.
            if index_rows(&mut rows, record).is_err() {
                return false;
            }
        }
        position = end;
    }
    if position == applied {
        return false;
    }
    match writer.apply(&mut rows, position) {
        Ok(()) => {
            trouble.is_over();
            true
        }
        Err(error) => {
            trouble.tell(
                &error,
                "the index cannot be written; look-ups read the journal",
            );
            false
        }
    }
}

/// The rows that one record gives.
///
/// # Errors
/// `storage_failed` for a record that cannot be read.
pub fn index_rows(rows: &mut Rows, record: &journal::Record) -> Result<(), Rejection> {
    if let Some(entry) = Entry::from_record(record)? {
        rows.id(entry.sequence, &entry.header.id);
        mentions(&entry.header).for_each(|text| rows.mention(entry.sequence, text));
        return Ok(());
    }
    if !Record::is_of_deliveries(record.kind) {
        return Ok(());
    }
    let Ok(told) = Record::decode(record.kind, &record.body) else {
        tracing::error!(sequence = record.sequence, "a record cannot be read");
        return Err(unreadable());
    };
    let Some((place, messages)) = told.deliveries() else {
        return Ok(());
    };
    let kind = fact_kind(&told);
    for message in messages {
        rows.fact(Fact {
            message,
            place: place.0,
            record: record.sequence,
            kind,
        });
    }
    Ok(())
}

/// The names that a message mentions, besides its own id.
pub(crate) fn mentions(header: &Header) -> impl Iterator<Item = &str> {
    let Header {
        conversation,
        correlation,
        cause,
        task,
        ..
    } = header;
    let texts = [conversation, correlation, cause, task];
    texts.into_iter().filter_map(|text| text.as_deref())
}

/// The number of a fact's kind in the index: 1 acked, 2 failed, 3 expired, 4 dead, 5 dropped, 6
/// redriven.
fn fact_kind(record: &Record) -> u8 {
    match record {
        Record::Acked { .. } => 1,
        Record::Failed { .. } => 2,
        Record::Ended { how, .. } => match how {
            Ending::Expired => 3,
            Ending::Dead => 4,
            Ending::Dropped => 5,
        },
        Record::Redriven { .. } => 6,
        Record::Published { .. }
        | Record::SubscriptionPut { .. }
        | Record::SubscriptionRemoved { .. }
        | Record::PlaceConfigured { .. }
        | Record::PlacePaused { .. }
        | Record::CardPut { .. }
        | Record::CardRemoved { .. } => 0,
    }
}

/// Forgets a part of what the journal no longer holds, when it is worth while; false when it is not.
fn forget(writer: &mut Index, first: u64, last: u64) -> bool {
    let gone = first.saturating_sub(writer.forgotten());
    if gone < FORGET_MIN || gone < (last - first) / 4 {
        return false;
    }
    writer.forget(first).unwrap_or_else(|error| {
        tracing::error!(%error, "the index cannot forget");
        false
    })
}
