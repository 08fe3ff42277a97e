//! One message at one place: what has become of it, as far as answers tell.
//!
//! Pairs of numbers are bounds: what had no answer may have happened.

use super::{Verdict, check};
use crate::history::{Delivered, How, Terms};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    Ready,
    Held {
        delivery: String,
        consumer: Option<String>,
        until: i64,
    },
    /// It may come from the first moment on, and must from the second.
    Resting {
        from: i64,
        to: i64,
    },
    Dead,
    /// Perhaps it is over.
    Unsure,
    /// It never comes again.
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct Owed {
    /// Whether it is owed at all, or may be.
    pub(super) is_sure: bool,
    pub(super) state: State,
    terms: Terms,
    /// The shortest wait, and by how many thousandths a wait may be longer.
    waits: (i64, i64),
    deadline: Option<i64>,
    was_out: bool,
    attempts: (u32, u32),
    /// The attempt that last failed, which is written down.
    written: u32,
    failures: (u32, u32),
    /// When its last wait began at the earliest, and ends at the latest, by a clock that may have been
    /// set back since.
    since: i64,
    again_at: i64,
    /// When it ends at the earliest, where that is known.
    not_before: i64,
    /// Failures, the attempt that last failed, and the deadline as they are surely written down: a
    /// delivery may be handed out before what time did is.
    sure: Option<(u32, u32, Option<i64>)>,
}

const DAY_MS: i64 = 86_400_000;

impl Owed {
    pub(super) fn new(
        is_sure: bool,
        terms: Terms,
        waits: (i64, i64),
        deadline: Option<i64>,
    ) -> Self {
        Self {
            is_sure,
            state: State::Ready,
            terms,
            waits,
            deadline,
            was_out: false,
            attempts: (0, 0),
            written: 0,
            failures: (0, 0),
            since: i64::MAX,
            again_at: i64::MIN,
            not_before: i64::MIN,
            sure: None,
        }
    }

    /// Whether a reader must get it now.
    pub(super) fn is_due(&self, now: i64) -> bool {
        let is_alive = self.failures.1 < self.terms.max_attempts && !self.is_over(now);
        self.is_sure && self.state == State::Ready && is_alive
    }

    pub(super) fn holder(&self, now: i64) -> Option<&Option<String>> {
        match &self.state {
            State::Held {
                consumer, until, ..
            } if *until > now => Some(consumer),
            _ => None,
        }
    }

    pub(super) fn is_resting(&self, now: i64) -> bool {
        let waits = matches!(&self.state, State::Resting { from, .. } if *from > now);
        waits && self.failures.1 < self.terms.max_attempts
    }

    pub(super) fn may_be_dead(&self, now: i64) -> bool {
        // A lease that has just run out may have been the last.
        let mut later = self.clone();
        later.pass(now);
        [self, &later].into_iter().any(|one| {
            let has_failed_enough = one.failures.1 >= one.terms.max_attempts;
            matches!(one.state, State::Dead | State::Unsure) || has_failed_enough
        })
    }

    /// Time goes by, and the exchange is well.
    pub(super) fn pass(&mut self, now: i64) {
        self.sure = self
            .sure
            .or(Some((self.failures.0, self.written, self.deadline)));
        match self.state {
            State::Held { until, .. } if until <= now => self.fail(now, None),
            State::Resting { to, .. } if to <= now => self.state = State::Ready,
            _ => {}
        }
        if self.is_over(now) && matches!(self.state, State::Ready | State::Resting { .. }) {
            self.end();
        }
    }

    /// As [`Self::pass`], for a message that may be nowhere.
    pub(super) fn pass_unheard(&mut self, now: i64) {
        if self.is_over(now) && self.state != State::Done {
            self.state = State::Unsure;
        }
    }

    /// The message was taken just now.
    pub(super) fn begin(&mut self) {
        if self.state == State::Unsure && !self.was_out {
            self.state = State::Ready;
        }
    }

    /// Everything until now is written down.
    pub(super) fn confirm(&mut self) {
        self.sure = None;
    }

    pub(super) fn hand_out(
        &mut self,
        now: i64,
        consumer: &Option<String>,
        delivery: &Delivered,
    ) -> Verdict {
        let is_free = self.holder(now).is_none() && !self.is_resting(now);
        check(is_free, "it was delivered while it was held or had to wait")?;
        check(self.state != State::Done, "it was delivered after its end")?;
        check(self.state != State::Dead, "a dead letter was delivered")?;
        check(
            !self.is_over(now),
            "it was delivered when nobody needed it any more",
        )?;
        check(
            delivery.redelivered || !self.was_out,
            "a repeat does not say that it is one",
        )?;
        let (least, most) = (self.attempts.0 + 1, self.attempts.1 + 1);
        let is_counted = (least..=most).contains(&delivery.attempt);
        check(is_counted, &format!("expected attempt {least} to {most}"))?;
        check(
            delivery.until == now + self.terms.lease_ms,
            "its lease has another length",
        )?;
        self.was_out = true;
        self.attempts = (delivery.attempt, delivery.attempt);
        self.failures.1 = self.failures.1.min(self.terms.max_attempts - 1);
        self.state = State::Held {
            delivery: delivery.delivery.clone(),
            consumer: consumer.clone(),
            until: delivery.until,
        };
        Ok(())
    }

    /// Its holder said so, and was told that it is done.
    pub(super) fn settle(&mut self, now: i64, how: How) {
        self.confirm();
        match how {
            How::Ack => self.state = State::Done,
            How::Nack(asked) => self.fail(now, Some(asked)),
            How::Reject => {
                self.fail(now, None);
                self.bury();
            }
            How::Extend(asked) => {
                let length = asked.unwrap_or(self.terms.lease_ms).clamp(1, DAY_MS);
                if let State::Held { until, .. } = &mut self.state {
                    *until = now + length;
                }
            }
        }
    }

    /// Its holder left. If the lease had just run out, it may have counted as failed before.
    pub(super) fn give_back(&mut self, now: i64) {
        if self.holder(now).is_none() {
            self.failures.1 += 1;
            self.may_wait(now, now);
        }
        self.state = State::Ready;
        if self.is_over(now) {
            self.end();
        }
    }

    /// Its holder died over it, just now or when its lease ran out.
    pub(super) fn lose(&mut self, now: i64) {
        self.confirm();
        self.fail(now, None);
    }

    pub(super) fn is_with(&self, one: &Option<String>) -> bool {
        matches!(&self.state, State::Held { consumer, .. } if consumer == one)
    }

    pub(super) fn redrive(&mut self) {
        self.state = State::Ready;
        self.deadline = None;
        self.failures = (0, 0);
        (self.since, self.not_before, self.again_at) = (i64::MAX, i64::MIN, i64::MIN);
    }

    /// Its holder died over it, and nobody heard whether that was taken note of.
    pub(super) fn doubt_loss(&mut self, now: i64) {
        self.failures.1 += 1;
        self.may_wait(now, now);
    }

    /// Its holder said so, and nobody heard an answer.
    pub(super) fn doubt(&mut self, now: i64, how: How) {
        match how {
            How::Ack | How::Reject => {
                // A lease that has run out may have been a failure before; and that a delivery was
                // rejected may be written down without its end.
                self.failures.1 += u32::from(self.holder(now).is_none());
                self.failures.1 += u32::from(matches!(how, How::Reject));
                self.may_wait(now, now);
                self.state = State::Unsure;
            }
            How::Nack(asked) => {
                self.failures.1 += 1;
                self.may_wait(now, self.wait(now, asked).1);
                self.state = State::Resting {
                    from: i64::MIN,
                    to: self.again_at,
                };
            }
            How::Extend(_) => {}
        }
    }

    /// The exchange is gone, and with it who holds what.
    pub(super) fn die(&mut self, now: i64) {
        if let Some((failures, written, deadline)) = self.sure.take() {
            let is_over = matches!(self.state, State::Dead | State::Done);
            if is_over && failures < self.failures.0 || deadline != self.deadline {
                self.state = State::Unsure;
            }
            (self.failures.0, self.written, self.deadline) = (failures, written, deadline);
        }
        self.attempts.0 = self.written;
        if let State::Held { until, .. } = &self.state {
            // What was due may have been done and written down, or not.
            if *until <= now {
                self.failures.1 += 1;
                self.may_wait(now, now);
            }
            self.state = State::Ready;
        }
        self.state = match std::mem::replace(&mut self.state, State::Ready) {
            // What was written down of its last wait is in the time of a clock that may be set back.
            State::Ready => {
                self.not_before = i64::MIN;
                State::Resting {
                    from: i64::MIN,
                    to: self.again_at,
                }
            }
            State::Resting { .. } => State::Resting {
                from: self.not_before,
                to: self.again_at,
            },
            other => other,
        };
        if self.is_over(now) && matches!(self.state, State::Resting { .. }) {
            self.state = State::Unsure;
        }
    }

    /// The exchange is there again, and its clock shows `now`: a wait that began later begins again.
    pub(super) fn resume(&mut self, now: i64) {
        if let State::Resting { from, to } = &mut self.state
            && self.since > now
            && *to > i64::MIN
        {
            let back = self.since.saturating_sub(now);
            *from = from.saturating_sub(back);
            *to = to.saturating_sub(back);
        }
    }

    /// Perhaps a wait began now that ends at `to`.
    fn may_wait(&mut self, now: i64, to: i64) {
        self.since = self.since.min(now);
        self.again_at = self.again_at.max(to);
        self.not_before = i64::MIN;
    }

    fn is_over(&self, now: i64) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// An attempt failed; the next comes at once, or after a wait.
    fn fail(&mut self, now: i64, wait: Option<Option<i64>>) {
        self.failures = (self.failures.0 + 1, self.failures.1 + 1);
        self.written = self.attempts.1;
        if self.failures.0 >= self.terms.max_attempts {
            self.bury();
        } else if self.is_over(now) {
            self.end();
        } else {
            (self.since, self.not_before, self.again_at) = (now, now, now);
            self.state = match wait {
                None => State::Ready,
                Some(asked) => {
                    let (from, to) = self.wait(now, asked);
                    (self.not_before, self.again_at) = (from, to);
                    State::Resting { from, to }
                }
            };
        }
    }

    pub(super) fn bury(&mut self) {
        self.state = State::Dead;
        self.deadline = None;
    }

    /// Its time is over; but if it died of failures first, it is a dead letter.
    fn end(&mut self) {
        let has_failed_enough = self.failures.1 >= self.terms.max_attempts;
        self.state = if has_failed_enough {
            State::Unsure
        } else {
            State::Done
        };
    }

    /// The wait after a failure that is already counted.
    fn wait(&self, now: i64, asked: Option<i64>) -> (i64, i64) {
        let (floor, longer) = self.waits;
        let after = |failures: u32| {
            let doubled =
                (1..failures).fold(self.terms.backoff_ms, |wait, _| wait.saturating_mul(2));
            let own = doubled.min(self.terms.backoff_ms_max);
            asked.unwrap_or(own).max(floor).clamp(0, DAY_MS)
        };
        let most = after(self.failures.1);
        (
            now + after(self.failures.0),
            now + most + most * longer / 1_000,
        )
    }
}
