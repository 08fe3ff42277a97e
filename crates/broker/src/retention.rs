//! What old messages may go, and letting them go.
//!
//! Whole segments go, from the oldest on, when all of their records are beyond a limit. Nothing goes
//! that a start would need (the records after the older checkpoint), that look-ups have not taken up,
//! or that a place still owes, unless the policy says so; then its deliveries end first, each with a
//! record.

use crate::handle::Shared;
use crate::request::{Queued, Request};
use crate::settings::{Owed, Retention};
use crate::turn::{Effect, Turn};
use exchange::{PlaceId, Record};
use journal::{Checkpoints, SegmentView};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often it looks...
const EVERY: Duration = Duration::from_secs(1);
/// ...and how long it waits when what it found must stay, because looking for what is owed takes the
/// loop's time.
const EVERY_OWED: Duration = Duration::from_secs(10);
/// Places that the loop looks at in one go.
const PLACES_AT_ONCE: u32 = 20_000;

/// The lane of everybody who has none.
const LANE: u64 = 0;

/// Everything it needs.
pub(crate) struct Retainer {
    pub shared: Arc<Shared>,
    pub retention: journal::Retention,
    /// Absent where nothing survives the process.
    pub checkpoints: Option<Checkpoints>,
}

/// The exchange has ended.
struct Ended;

impl Retainer {
    /// Works until the loop has ended.
    pub(crate) fn run(&self, alive: &Receiver<()>) {
        let mut pause = EVERY;
        while alive.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            match self.work() {
                Ok(next) => pause = next,
                Err(Ended) => return,
            }
        }
    }

    /// Lets go what may go; returns when to look again.
    fn work(&self) -> Result<Duration, Ended> {
        let policy = self.shared.settings.retention;
        let segments = self.shared.reader.segments();
        let now_ms = self.shared.clock.now().as_millis();
        // The age of what was written by a clock that has been set back since is not negative.
        let time_ms = self.shared.reader.time_at(now_ms);
        let mut cut = wanted(&policy, &segments, time_ms);
        // Most of the time nothing is to be done, and then nothing is asked.
        if !frees_any(&segments, cut) {
            return Ok(EVERY);
        }
        cut = cut.min(self.allowed().unwrap_or(0));
        if !frees_any(&segments, cut) {
            return Ok(EVERY);
        }
        match policy.owed {
            Owed::Keep => {
                if let Some(owed) = self.oldest_owed()? {
                    cut = cut.min(owed);
                }
            }
            Owed::Drop => self.let_go_before(cut)?,
        }
        if !frees_any(&segments, cut) {
            return Ok(EVERY_OWED);
        }
        match self.retention.drop_before(cut) {
            Ok(dropped) if dropped.segments == 0 => {}
            Ok(dropped) => {
                self.shared.meter.dropped.inc_by(dropped.records);
                let (first, _) = self.shared.reader.range();
                tracing::info!(
                    records = dropped.records,
                    bytes = dropped.bytes,
                    first,
                    "old messages were dropped"
                );
                self.shared.ring.forget_before(first);
                self.ask(move |turn| turn.exchange.keep_from(first))?;
            }
            Err(error) => tracing::error!(%error, "old messages cannot be dropped"),
        }
        Ok(EVERY)
    }

    /// The first record that must stay whatever the policy: a start needs what is behind the older
    /// checkpoint, and look-ups what the index has not taken up.
    fn allowed(&self) -> Option<u64> {
        let indexed = self.shared.index.lock().applied() + 1;
        let Some(checkpoints) = &self.checkpoints else {
            return Some(indexed);
        };
        match checkpoints.kept() {
            Ok(kept) => kept.first().map(|oldest| indexed.min(oldest + 1)),
            Err(error) => {
                tracing::error!(%error, "checkpoints cannot be listed, so nothing is dropped");
                None
            }
        }
    }

    fn oldest_owed(&self) -> Result<Option<u64>, Ended> {
        let (mut from, mut oldest) = (Some(PlaceId(0)), None);
        while let Some(place) = from {
            let looked =
                self.ask(move |turn| turn.exchange.oldest_owed_from(place, PLACES_AT_ONCE))?;
            oldest = [oldest, looked.found].into_iter().flatten().min();
            from = looked.next;
        }
        Ok(oldest)
    }

    /// Ends every delivery of messages before `first`; returns when the records are durable.
    fn let_go_before(&self, first: u64) -> Result<(), Ended> {
        let mut from = Some(PlaceId(0));
        while let Some(place) = from {
            let (reply, answer) = std::sync::mpsc::channel();
            let act = move |turn: &mut Turn| {
                if turn.has_failed() {
                    return;
                }
                let now = turn.clock.now();
                let looked = turn
                    .exchange
                    .let_go_before(now, first, place, PLACES_AT_ONCE);
                let ended = looked.found.records.iter().map(|record| match record {
                    Record::Ended { sequences, .. } => sequences.len() as u64,
                    _ => 0,
                });
                let ended: u64 = ended.sum();
                if ended > 0 {
                    tracing::warn!(deliveries = ended, first, "deliveries ended by retention");
                    turn.meter.dropped_deliveries.inc_by(ended);
                }
                turn.follow(looked.found);
                let done = move |failed: bool| {
                    // The other end waits for it, unless the process ends.
                    let _ = reply.send((failed, looked.next));
                };
                turn.batch.effects.push(Effect::Done(Box::new(done)));
            };
            self.send(act)?;
            let (failed, next) = answer.recv().map_err(|_| Ended)?;
            if failed {
                return Err(Ended);
            }
            from = next;
        }
        Ok(())
    }

    /// Asks the loop, and waits for its answer.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Turn) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let (reply, answer) = std::sync::mpsc::channel();
        self.send(move |turn| drop(reply.send(question(turn))))?;
        answer.recv().map_err(|_| Ended)
    }

    fn send(&self, act: impl FnOnce(&mut Turn) + Send + 'static) -> Result<(), Ended> {
        let queued = Queued {
            lane: LANE,
            request: Request::Act(Box::new(act)),
        };
        let sent = self.shared.requests.blocking_send(queued);
        sent.map_err(|_| Ended)
    }
}

/// The first record that the policy keeps, by whole segments.
fn wanted(policy: &Retention, segments: &[SegmentView], now_ms: i64) -> u64 {
    let last = segments.last().map_or(0, |active| active.last);
    let by_records = policy
        .records
        .map_or(0, |records| (last + 1).saturating_sub(records));
    let by_age = policy.age_ms.map_or(0, |age_ms| {
        let age_ms = i64::try_from(age_ms).unwrap_or(i64::MAX);
        let oldest_ms = now_ms.saturating_sub(age_ms);
        let old = segments.iter().take_while(|one| one.written_ms < oldest_ms);
        old.last().map_or(0, |one| one.last + 1)
    });
    let by_bytes = policy.bytes.map_or(0, |bytes_max| {
        let mut bytes = 0;
        let kept = segments.iter().rev().take_while(|one| {
            bytes += one.bytes;
            bytes <= bytes_max
        });
        kept.last().map_or(last + 1, |one| one.first)
    });
    by_records.max(by_age).max(by_bytes)
}

/// Whether a closed segment lies wholly before the cut.
fn frees_any(segments: &[SegmentView], cut: u64) -> bool {
    matches!(segments, [oldest, _, ..] if oldest.last < cut)
}

#[cfg(test)]
mod tests {
    use super::{frees_any, wanted};
    use crate::settings::Retention;
    use journal::SegmentView;

    /// Segments of ten records and a hundred bytes, one a second.
    fn segments(count: u64) -> Vec<SegmentView> {
        (0..count)
            .map(|n| SegmentView {
                first: n * 10 + 1,
                last: n * 10 + 10,
                bytes: 100,
                begun_ms: n as i64 * 1_000,
                written_ms: (n as i64 + 1) * 1_000,
            })
            .collect()
    }

    fn cut(policy: Retention) -> u64 {
        wanted(&policy, &segments(5), 6_000)
    }

    #[test]
    fn nothing_goes_without_a_limit() {
        assert_eq!(cut(Retention::default()), 0);
        assert!(!frees_any(&segments(5), 0));
    }

    #[test]
    fn each_limit_lets_whole_segments_go_and_the_strictest_counts() {
        let records = |records| Retention {
            records: Some(records),
            ..Retention::default()
        };
        let bytes = |bytes| Retention {
            bytes: Some(bytes),
            ..Retention::default()
        };
        let age = |age_ms| Retention {
            age_ms: Some(age_ms),
            ..Retention::default()
        };
        assert_eq!(
            (cut(records(50)), cut(records(15)), cut(records(90))),
            (1, 36, 0)
        );
        assert_eq!(
            (cut(bytes(500)), cut(bytes(250)), cut(bytes(0))),
            (1, 31, 51)
        );
        assert_eq!(
            (cut(age(5_000)), cut(age(2_999)), cut(age(u64::MAX))),
            (0, 31, 0)
        );
        let both = Retention {
            records: Some(45),
            ..age(2_999)
        };
        assert_eq!(cut(both), 31);
    }

    #[test]
    fn a_segment_goes_only_when_all_of_it_is_before_the_cut_and_the_active_one_never() {
        assert!(!frees_any(&segments(3), 10) && frees_any(&segments(3), 11));
        assert!(!frees_any(&segments(1), 1_000));
    }
}
