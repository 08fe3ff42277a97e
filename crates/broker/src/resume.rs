//! The state at the end of the journal: the newest checkpoint that can be read, and the records
//! after it.

use crate::open::OpenError;
use exchange::{Exchange, Record};
use journal::{Checkpoints, Reader};

/// Records and bytes of one read.
const RECORDS_MAX: usize = 8_192;
const BYTES_MAX: usize = 4 << 20;

/// The state of the newest checkpoint at most as new as the journal's end, and its sequence. One that
/// cannot be read is passed over, with a warning; `None` when none is left.
pub(crate) fn newest(
    checkpoints: &Checkpoints,
    reader: &Reader,
    settings: &exchange::Settings,
) -> Result<Option<(Exchange, u64)>, OpenError> {
    let (first, mut at_most) = reader.range();
    while let Some(checkpoint) = checkpoints.latest(at_most)? {
        let sequence = checkpoint.sequence;
        if sequence + 1 < first {
            tracing::warn!(sequence, first, "records after the checkpoint are gone");
            return Ok(None);
        }
        match Exchange::restore(settings.clone(), &checkpoint.body) {
            Ok(exchange) => return Ok(Some((exchange, sequence))),
            Err(error) => tracing::warn!(sequence, %error, "a checkpoint is passed over"),
        }
        let Some(older) = sequence.checked_sub(1) else {
            break;
        };
        at_most = older;
    }
    Ok(None)
}

/// Hands every record after `after`, up to `last`, to `take`.
pub(crate) fn records(
    reader: &Reader,
    after: u64,
    last: u64,
    mut take: impl FnMut(u64, Record) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    let mut position = after;
    while position < last {
        position = some(reader, position, last, &mut take)?;
    }
    Ok(())
}

/// The same for one read's worth of them; returns the last.
pub(crate) fn some(
    reader: &Reader,
    after: u64,
    last: u64,
    take: &mut impl FnMut(u64, Record) -> Result<(), OpenError>,
) -> Result<u64, OpenError> {
    let records = reader.read(after + 1, RECORDS_MAX, BYTES_MAX)?;
    let mut position = after;
    for record in records {
        let sequence = record.sequence;
        if sequence > last {
            break;
        }
        position = sequence;
        if record.kind == journal::LOST {
            continue;
        }
        let record =
            Record::decode(record.kind, &record.body).map_err(|error| OpenError::Record {
                sequence,
                what: error.0,
            })?;
        take(sequence, record)?;
    }
    // There is nothing to read where there should be: end instead of asking for ever.
    Ok(if position == after { last } else { position })
}
