//! Feeds the look-up index behind the journal. Never on the way to a receipt.

use crate::Entry;
use crate::handle::Shared;
use journal::{Index, IndexRow};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Records per transaction.
const ROWS_MAX: usize = 4_096;
/// Bytes per read.
const BYTES_MAX: usize = 4 << 20;

/// Follows the journal until its writer is gone.
pub(crate) fn run(shared: &Arc<Shared>, mut writer: Index, committed: &Receiver<()>) {
    loop {
        match committed.recv_timeout(Duration::from_secs(1)) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                follow(shared, &mut writer);
                return;
            }
        }
        follow(shared, &mut writer);
    }
}

/// Brings the index up to the newest durable record.
pub(crate) fn follow(shared: &Arc<Shared>, writer: &mut Index) {
    loop {
        let (first, last) = shared.reader.range();
        let applied = writer.applied().max(first.saturating_sub(1));
        shared
            .meter
            .index_lag
            .set(i64::try_from(last - applied.min(last)).unwrap_or(i64::MAX));
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
        let rows: Vec<IndexRow> = records
            .iter()
            .filter_map(Entry::from_record)
            .map(|entry| row(&entry))
            .collect();
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
