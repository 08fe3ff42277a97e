//! Keys of older messages: stored behind the loop, found by it.
//!
//! The loop freezes its table of keys when that is full; a thread of its own sorts and stores it. The
//! loop goes on with both tables meanwhile, and forgets the frozen one when the files answer for it.

use crate::open::OpenError;
use exchange::{First, FrozenKeys, KeyGatherer, Older, OlderUnreadable, Record};
use journal::{Disk, KeyEntry, KeyReader, Keys, Reader, Syncer};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// Frozen tables that may wait; then the table of the newest keys grows instead.
pub(crate) const FROZEN_MAX: usize = 2;
/// So many more keys than usual may always be in memory: storing takes a moment even when there are few.
pub(crate) const SPARE_MIN: usize = 8_192;
/// After an error, for instance on a full disk.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Opens the key files of a journal.
pub(crate) fn open(
    disk: Arc<dyn Disk>,
    reader: &Reader,
    recent_max: usize,
    filter_bytes_max: u64,
) -> Result<Keys, OpenError> {
    let lineage = reader.cursor(0).lineage;
    let keys = Keys::open(
        disk,
        lineage,
        reader.range(),
        recent_max as u64,
        filter_bytes_max,
    )?;
    for (file, why) in keys.removed() {
        tracing::warn!(file, why, "a file of keys was removed");
    }
    Ok(keys)
}

/// Finds keys that are not in memory.
pub(crate) fn older(keys: KeyReader) -> Older {
    Box::new(move |key| {
        let found = keys.find(&key.0, 0).map_err(|error| {
            tracing::error!(%error, "keys of older messages cannot be read; a restart without that file makes it again");
            OlderUnreadable
        })?;
        Ok(found.map(|entry| First {
            sequence: entry.sequence,
            fingerprint: entry.value,
        }))
    })
}

/// Stores frozen keys.
pub(crate) fn seal(keys: &Keys, frozen: &FrozenKeys) -> Result<(), journal::Error> {
    let entries = frozen.iter().map(|(key, first)| KeyEntry {
        key: key.0,
        sequence: first.sequence,
        value: first.fingerprint,
    });
    keys.add(frozen.after + 1, frozen.last, entries.collect())
}

/// Stores what the loop freezes, until the loop has ended and has nothing more.
pub(crate) fn seal_beside(keys: &Keys, syncer: &Syncer, frozen: &Receiver<Arc<FrozenKeys>>) {
    let mut waiting = VecDeque::new();
    while wait(frozen, &mut waiting) {
        seal_waiting(keys, syncer, &mut waiting);
    }
}

/// Stores what waits, as far as the disk takes it.
pub(crate) fn seal_waiting(keys: &Keys, syncer: &Syncer, waiting: &mut VecDeque<Arc<FrozenKeys>>) {
    while let Some(frozen) = waiting.front() {
        // No key may outlive a record that a crash takes away.
        match syncer.sync().and_then(|()| seal(keys, frozen)) {
            Ok(()) => drop(waiting.pop_front()),
            Err(error) => {
                tracing::error!(%error, "keys of older messages cannot be stored; they stay in memory");
                break;
            }
        }
    }
}

/// Collects what is to be stored; false when the loop has ended and has nothing more.
fn wait(receiver: &Receiver<Arc<FrozenKeys>>, waiting: &mut VecDeque<Arc<FrozenKeys>>) -> bool {
    let first = if waiting.is_empty() {
        receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
    } else {
        receiver.recv_timeout(RETRY_EVERY)
    };
    match first {
        Ok(frozen) => waiting.push_back(frozen),
        Err(RecvTimeoutError::Timeout) => {}
        Err(RecvTimeoutError::Disconnected) => return false,
    }
    loop {
        match receiver.try_recv() {
            Ok(frozen) => waiting.push_back(frozen),
            // Those that came are stored once more, then the next call ends it.
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return true,
        }
    }
}

/// Makes files again for ranges of records that should have them and have not.
pub(crate) fn restore(
    keys: &Keys,
    reader: &Reader,
    missing: Vec<(u64, u64)>,
    recent_max: usize,
) -> Result<(), OpenError> {
    for (first, last) in missing {
        tracing::warn!(first, last, "keys are collected again from the journal");
        let mut gatherer = KeyGatherer::after(first - 1);
        crate::resume::records(reader, first - 1, last, |sequence, record: Record| {
            gatherer.add(sequence, &record);
            if gatherer.count() >= recent_max {
                seal(keys, &gatherer.take(sequence))?;
            }
            Ok(())
        })?;
        seal(keys, &gatherer.take(last))?;
    }
    Ok(())
}
