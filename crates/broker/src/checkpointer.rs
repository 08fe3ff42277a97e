//! Checkpoints behind the loop, so that a start is short however long the journal is.
//!
//! It never looks at the loop's state: it loads the last checkpoint, applies the records since from
//! the disk and writes the next. While the exchange is busy it takes a share of the time, until it is
//! far behind; what it is behind is what a start has to read.

use crate::open::OpenError;
use crate::{Meter, resume};
use exchange::Exchange;
use journal::{Checkpoints, KeyReader, Keys, Reader};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often it looks whether a checkpoint is due.
const EVERY: Duration = Duration::from_secs(1);
/// How long merging files of keys is left alone after an error.
const TIDY_RETRY_EVERY: Duration = Duration::from_secs(60);
/// With more records than this in one second the exchange is busy.
const BUSY_RECORDS: u64 = 5_000;
/// While busy it rests so many times as long as it worked...
const BUSY_REST: u32 = 3;
/// ...until it is so many checkpoints behind.
const LAG_CHECKPOINTS_MAX: u64 = 4;

/// Everything it needs.
pub(crate) struct Checkpointer {
    pub reader: Reader,
    /// Absent where nothing survives the process.
    pub checkpoints: Option<Checkpoints>,
    pub keys: Arc<Keys>,
    pub settings: exchange::Settings,
    /// A checkpoint is due after so many records...
    pub every_records: u64,
    /// ...or when there are any, after so long.
    pub every: Duration,
    pub meter: Meter,
}

impl Checkpointer {
    /// Works until the loop has ended, then writes the last checkpoint; `newest` is the one there is.
    pub(crate) fn run(self, mut newest: u64, alive: &Receiver<()>) {
        let mut written = Instant::now();
        let mut tidy_at = Instant::now();
        let mut pace = Pace::new(&self.reader);
        loop {
            let pause = EVERY.min(self.every / 4);
            let ended = alive.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
            let (_, last) = self.reader.range();
            let lag = last.saturating_sub(newest);
            self.meter.checkpoint_lag.set(signed(lag));
            pace.look(last);
            let is_late = lag >= self.every_records || written.elapsed() >= self.every;
            let may_work = ended || !pace.is_busy || lag >= self.every_records * 2;
            if lag > 0 && (ended || is_late && may_work) {
                match self.write(last, &mut pace, ended) {
                    Ok(()) => newest = last,
                    // The next start reads more; nothing else is lost.
                    Err(error) => tracing::error!(%error, "no checkpoint could be written"),
                }
                written = Instant::now();
            }
            if ended {
                // So that the next start makes them again, and need not be followed by another.
                if let Err(error) = self.keys.remove_damaged() {
                    tracing::error!(%error, "damaged files of keys cannot be removed");
                }
                return;
            }
            if tidy_at <= Instant::now() {
                tidy_at = Instant::now() + self.tidy(&mut pace);
            }
        }
    }

    /// Writes the checkpoint after the newest record, without rest.
    pub(crate) fn write_now(&self) -> Result<(), OpenError> {
        let (_, last) = self.reader.range();
        self.write(last, &mut Pace::new(&self.reader), true)
    }

    /// Writes the checkpoint after record `last`.
    fn write(&self, last: u64, pace: &mut Pace, in_haste: bool) -> Result<(), OpenError> {
        let Some(checkpoints) = &self.checkpoints else {
            return Ok(());
        };
        let start = Instant::now();
        let (first, _) = self.reader.range();
        let found = resume::newest(checkpoints, &self.reader, &self.settings)?;
        if found.is_none() && first > 1 {
            // What could be written now would stand for records that nobody has read.
            return Err(OpenError::LostState { first });
        }
        let (mut exchange, from) =
            found.unwrap_or_else(|| (Exchange::new(self.settings.clone()), first - 1));
        let covered = |keys: &KeyReader| keys.covered(self.reader.range().0);
        exchange.forget_keys(covered(&self.keys.reader()));
        let mut position = from;
        while position < last {
            let begun = Instant::now();
            position = resume::some(&self.reader, position, last, &mut |sequence, record| {
                exchange.apply(sequence, record);
                Ok(())
            })?;
            let lag = last - position;
            if !in_haste && lag < self.every_records * LAG_CHECKPOINTS_MAX {
                pace.rest(&self.reader, begun.elapsed());
            }
        }
        exchange.keep_from(self.reader.range().0);
        exchange.forget_keys(covered(&self.keys.reader()));
        let bytes = exchange.snapshot();
        checkpoints.write(last, &bytes)?;
        let ms = start.elapsed().as_millis() as u64;
        tracing::debug!(
            sequence = last,
            records = last - from,
            bytes = bytes.len(),
            ms,
            "checkpoint"
        );
        Ok(())
    }

    /// Keeps the files of keys few; returns when to look again.
    fn tidy(&self, pace: &mut Pace) -> Duration {
        let mut begun = Instant::now();
        let (reader, first) = (&self.reader, self.reader.range().0);
        let tidied = self.keys.tidy(first, &mut || {
            pace.rest(reader, begun.elapsed());
            begun = Instant::now();
        });
        match tidied {
            Ok(_) => Duration::ZERO,
            Err(error) => {
                tracing::error!(%error, "files of keys cannot be merged; look-ups ask all of them");
                TIDY_RETRY_EVERY
            }
        }
    }
}

/// How busy the exchange is.
struct Pace {
    last: u64,
    at: Instant,
    is_busy: bool,
}

impl Pace {
    fn new(reader: &Reader) -> Self {
        Self {
            last: reader.range().1,
            at: Instant::now(),
            is_busy: false,
        }
    }

    /// Looks how much was written since it looked last, a moment ago or longer.
    fn look(&mut self, last: u64) {
        let millis = self.at.elapsed().as_millis() as u64;
        if millis >= 100 {
            let records = last.saturating_sub(self.last);
            self.is_busy = records * 1_000 / millis > BUSY_RECORDS;
            (self.last, self.at) = (last, Instant::now());
        }
    }

    /// Rests in proportion to the time that was worked, while the exchange is busy.
    fn rest(&mut self, reader: &Reader, worked: Duration) {
        self.look(reader.range().1);
        if self.is_busy {
            std::thread::sleep(worked * BUSY_REST);
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
