//! Feeds the look-up index behind the journal. Never on the way to a receipt.

use crate::Entry;
use crate::handle::Shared;
use journal::{Index, IndexRow};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Records per transaction.
const ROWS_MAX: usize = 4_096;
/// Bytes per read.
const BYTES_MAX: usize = 4 << 20;
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
            follow(shared, &mut writer, Instant::now() + EVERY);
        } else if lag > LAG_RECORDS_MAX {
            follow(shared, &mut writer, Instant::now() + BUSY_SHARE);
        }
    }
}

/// Brings the index up to the newest durable record, however long that takes.
pub(crate) fn follow_all(shared: &Arc<Shared>, writer: &mut Index) {
    const LONG: Duration = Duration::from_secs(1 << 30);
    follow(shared, writer, Instant::now() + LONG);
}

/// Brings the index up to the newest durable record, or as far as it comes until `deadline`.
fn follow(shared: &Arc<Shared>, writer: &mut Index, deadline: Instant) {
    while Instant::now() < deadline {
        let (first, last) = shared.reader.range();
        let applied = writer.applied().max(first.saturating_sub(1));
        if applied >= last {
            return;
        }
        let records = match shared.reader.read(applied + 1, ROWS_MAX, BYTES_MAX) {
            Ok(records) => records,
            Err(error) => {
                tracing::error!(%error, "the index cannot read the journal");
                return;
            }
        };
        let Some(end) = records.last().map(|record| record.sequence) else {
            return;
        };
        let mut rows: Vec<IndexRow> = Vec::with_capacity(records.len());
        for record in &records {
            // It has been logged; without it the index would say that there is no such message.
            let Ok(entry) = Entry::from_record(record) else {
                return;
            };
            rows.extend(entry.as_ref().map(row));
        }
        if let Err(error) = writer.apply(&rows, end) {
            tracing::error!(%error, "the index cannot be written; look-ups read the journal");
            return;
        }
    }
}

fn row(entry: &Entry) -> IndexRow {
    IndexRow {
        sequence: entry.sequence,
        id: entry.header.id.to_string(),
        sender: entry.header.sender.to_string(),
        conversation: entry.header.conversation.as_deref().map(str::to_owned),
        task: entry.header.task.as_deref().map(str::to_owned),
        at_ms: entry.at.as_millis(),
    }
}
