//! What a failed attempt leads to: another one later, a dead letter, or the end of an old message.

use crate::delivery_settings::WAIT_MS_MAX;
use crate::exchange::Exchange;
use crate::outcome::{Notice, Outcome};
use crate::place::PlaceId;
use crate::record::{Ending, FailedDelivery, Failure, Record};
use protocol::Timestamp;

/// The reason of a delivery that failed too often.
pub(crate) const ATTEMPTS_EXHAUSTED: &str = "attempts_exhausted";
/// The reason of a delivery that its reader will never take.
pub(crate) const REJECTED: &str = "rejected";
/// Longest text of a failure that is kept, in bytes.
const ERROR_BYTES_MAX: usize = 1_024;

/// How attempts failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fail<'e> {
    pub(crate) why: Failure,
    pub(crate) error: &'e str,
    /// What the reader asks for; else the backoff of the place.
    pub(crate) retry_after_ms: Option<i64>,
}

impl Exchange {
    /// Attempts of one place failed. The records join `outcome`, whose first has `next_sequence`.
    pub(crate) fn fail(
        &mut self,
        now: Timestamp,
        next_sequence: u64,
        place: PlaceId,
        sequences: &[u64],
        how: &Fail<'_>,
        outcome: &mut Outcome,
    ) {
        let failure = next_sequence + outcome.records.len() as u64;
        let (defaults, floor) = (self.settings.delivery, self.settings.nack_delay_ms_min);
        let jitter_milli = i64::from(self.settings.nack_jitter_milli);
        let mut failed = Vec::with_capacity(sequences.len());
        let (mut dead, mut expired) = (Vec::new(), Vec::new());
        self.places.change(place, |queue, moments| {
            for &sequence in sequences {
                let Some(tries) = queue.tries_of(sequence) else {
                    continue;
                };
                // An attempt that is over was counted then; only a final word still matters.
                if how.why != Failure::Rejected && !queue.is_held(sequence) {
                    continue;
                }
                let settings = queue.settings_for(sequence, defaults);
                let (attempt, failures) = (tries.attempts, tries.failed() + 1);
                let delay = match how.why {
                    Failure::LeaseExpired | Failure::ConsumerGone | Failure::Rejected => 0,
                    Failure::Nacked => {
                        let asked = how.retry_after_ms.unwrap_or(settings.backoff(failures));
                        let delay = asked.max(floor).clamp(0, WAIT_MS_MAX);
                        spread(delay, delay * jitter_milli / 1_000, failure ^ sequence)
                    }
                };
                let again_at = now.plus_millis(delay);
                queue.fail(sequence, failure, (now, again_at), moments);
                failed.push(FailedDelivery {
                    sequence,
                    attempt,
                    again_at,
                });
                let reason = match how.why {
                    Failure::Rejected => Some(REJECTED),
                    Failure::LeaseExpired | Failure::ConsumerGone | Failure::Nacked => {
                        (failures >= settings.max_attempts).then_some(ATTEMPTS_EXHAUSTED)
                    }
                };
                if let Some(reason) = reason {
                    queue.bury(sequence, now, reason, moments);
                    dead.push((sequence, attempt, reason));
                } else if queue.is_expired(sequence, now) {
                    queue.forget(sequence, moments);
                    expired.push(sequence);
                } else if delay == 0 {
                    queue.ready_again(sequence, moments);
                }
            }
        });
        if failed.is_empty() {
            return;
        }
        outcome.records.push(Record::Failed {
            place,
            at: now,
            why: how.why,
            error: cut(how.error).into(),
            deliveries: failed,
        });
        for reason in [ATTEMPTS_EXHAUSTED, REJECTED] {
            let of_reason = dead.iter().filter(|(_, _, why)| *why == reason);
            let notices = of_reason
                .clone()
                .map(|(sequence, attempts, _)| Notice::DeadLettered {
                    place,
                    sequence: *sequence,
                    attempts: *attempts,
                    reason: reason.into(),
                });
            outcome.notices.extend(notices);
            let sequences = of_reason.map(|(sequence, _, _)| *sequence).collect();
            end(now, place, Ending::Dead, reason, sequences, outcome);
        }
        end(now, place, Ending::Expired, "", expired, outcome);
    }
}

/// The record, and for expired messages the notices, of deliveries that are over.
pub(crate) fn end(
    now: Timestamp,
    place: PlaceId,
    how: Ending,
    reason: &str,
    mut sequences: Vec<u64>,
    outcome: &mut Outcome,
) {
    if sequences.is_empty() {
        return;
    }
    sequences.sort_unstable();
    if how == Ending::Expired {
        let notices = sequences.iter().map(|sequence| Notice::Expired {
            place,
            sequence: *sequence,
        });
        outcome.notices.extend(notices);
    }
    outcome.records.push(Record::Ended {
        place,
        at: now,
        how,
        reason: reason.into(),
        sequences,
    });
}

/// `delay` and up to `most` more, always the same for a seed.
fn spread(delay: i64, most: i64, seed: u64) -> i64 {
    let bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let choices = u64::try_from(most).unwrap_or(0) + 1;
    delay.saturating_add(i64::try_from(bits % choices).unwrap_or(0))
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(ERROR_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
