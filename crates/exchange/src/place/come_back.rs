//! What did not go well: failed attempts, waits, dead letters, and what is over.

use super::conversations::Election;
use super::{Candidate, Dead, Moments, OrderKey, Place, Resting, Tries};
use crate::record::FailedDelivery;
use protocol::Timestamp;

impl Place {
    /// A delivery failed at `now`, as the record `failure` says, and waits until `until`. When it was
    /// not held, its attempts stay what they are.
    pub(crate) fn fail(
        &mut self,
        sequence: u64,
        failure: u64,
        (now, until): (Timestamp, Timestamp),
        moments: &mut Moments,
    ) {
        if let Some(mut candidate) = self.take_out(sequence, moments) {
            candidate.tries.failures.push(failure);
            self.rest(candidate, (now, until), moments);
        }
    }

    /// As [`Self::fail`] when state is rebuilt: nothing is held then.
    pub(crate) fn failed_before(
        &mut self,
        failed: &FailedDelivery,
        failure: u64,
        at: Timestamp,
        moments: &mut Moments,
    ) {
        if let Some(mut candidate) = self.take_out(failed.sequence, moments) {
            candidate.tries.attempts = failed.attempt;
            candidate.tries.failures.push(failure);
            self.rest(candidate, (at, failed.again_at), moments);
        }
    }

    /// The way so far of a delivery that is owed.
    pub(crate) fn tries_of(&self, sequence: u64) -> Option<Tries> {
        let held = self.held.get(&sequence).map(|held| held.tries.clone());
        let resting = || self.resting.get(&sequence).map(|rests| rests.tries.clone());
        let ready = || self.lanes.tries(sequence);
        let parked = || self.conversations.tries(sequence);
        held.or_else(resting).or_else(ready).or_else(parked)
    }

    fn rest(
        &mut self,
        candidate: Candidate,
        (since, until): (Timestamp, Timestamp),
        moments: &mut Moments,
    ) {
        let Candidate {
            sequence,
            priority,
            key,
            tries,
        } = candidate;
        if self.keeps(key) {
            self.conversations.begin_rest(key, priority, sequence);
        }
        moments.leases.insert((until, self.id, sequence));
        let resting = Resting {
            since,
            until,
            priority,
            key,
            tries,
        };
        self.resting.insert(sequence, resting);
        self.elect(key);
    }

    /// The state was rebuilt, and the clock shows `now`. A wait that began later than that was measured
    /// by a clock that has been set back since: it begins now, so that it is never longer than it was.
    pub(crate) fn resume_waits(&mut self, now: Timestamp, moments: &mut Moments) {
        for (&sequence, resting) in &mut self.resting {
            if resting.since <= now {
                continue;
            }
            let wait = resting.until.as_millis() - resting.since.as_millis();
            moments.leases.remove(&(resting.until, self.id, sequence));
            (resting.since, resting.until) = (now, now.plus_millis(wait.max(0)));
            moments.leases.insert((resting.until, self.id, sequence));
        }
    }

    /// Whether a delivery waits for its next attempt.
    pub(crate) fn is_resting(&self, sequence: u64) -> bool {
        self.resting.contains_key(&sequence)
    }

    /// The wait of a delivery is over.
    pub(crate) fn ready_again(&mut self, sequence: u64, moments: &mut Moments) {
        if let Some(candidate) = self.take_resting(sequence, moments) {
            self.come_back(candidate);
        }
    }

    /// The message is done here, in whatever state it is; true when it was owed or dead.
    pub(crate) fn forget(&mut self, sequence: u64, moments: &mut Moments) -> bool {
        self.retries.remove(&sequence);
        self.never_expires(sequence, moments);
        self.take(sequence, moments).is_some() || self.dead.remove(&sequence).is_some()
    }

    /// Nobody is given this delivery again by itself.
    pub(crate) fn bury(
        &mut self,
        sequence: u64,
        at: Timestamp,
        reason: &str,
        moments: &mut Moments,
    ) {
        self.never_expires(sequence, moments);
        if let Some(candidate) = self.take(sequence, moments) {
            let dead = Dead {
                at,
                reason: reason.into(),
                priority: candidate.priority,
                key: candidate.key,
                tries: candidate.tries,
            };
            self.dead.insert(sequence, dead);
        }
    }

    /// A dead letter is ready again, with all its attempts before it. It does not expire any more:
    /// somebody wants it.
    pub(crate) fn redrive(&mut self, sequence: u64) -> bool {
        let Some(dead) = self.dead.remove(&sequence) else {
            return false;
        };
        self.come_back(Candidate {
            sequence,
            priority: dead.priority,
            key: dead.key,
            tries: Tries {
                attempts: dead.tries.attempts,
                failures: Vec::new(),
            },
        });
        true
    }

    /// A delivery is ready, in its order.
    pub(super) fn come_back(&mut self, candidate: Candidate) {
        if !self.keeps(candidate.key) {
            self.lanes.put_back(candidate);
            return;
        }
        let key = candidate.key;
        self.conversations.park(candidate);
        self.elect(key);
    }

    /// Lets the right delivery of a conversation be ready, after any change of it.
    pub(super) fn elect(&mut self, key: OrderKey) {
        if !self.keeps(key) {
            return;
        }
        if let Some(election) = self.conversations.elect(key) {
            self.enthrone(election);
        }
    }

    pub(super) fn enthrone(&mut self, election: Election) {
        if let Some(deposed) = election.deposed
            && let Some(candidate) = self.lanes.remove(deposed)
        {
            self.conversations.park(candidate);
        }
        self.lanes.put_back(election.heir);
    }

    fn never_expires(&mut self, sequence: u64, moments: &mut Moments) {
        if let Some(moment) = self.expiring.remove(&sequence) {
            moments.expiries.remove(&(moment, self.id, sequence));
        }
    }

    /// Takes a delivery out of wherever it is, except from among the dead; what waits behind it may
    /// be ready then.
    fn take(&mut self, sequence: u64, moments: &mut Moments) -> Option<Candidate> {
        let taken = self.take_out(sequence, moments)?;
        self.elect(taken.key);
        Some(taken)
    }

    /// As [`Self::take`], before anything else is ready.
    fn take_out(&mut self, sequence: u64, moments: &mut Moments) -> Option<Candidate> {
        let taken = self.take_held(sequence, moments);
        let taken = taken.or_else(|| self.take_resting(sequence, moments));
        let taken = taken.or_else(|| self.take_ready(sequence));
        taken.or_else(|| self.conversations.unpark(sequence))
    }

    fn take_resting(&mut self, sequence: u64, moments: &mut Moments) -> Option<Candidate> {
        let resting = self.resting.remove(&sequence)?;
        let Resting {
            since: _,
            until,
            priority,
            key,
            tries,
        } = resting;
        moments.leases.remove(&(until, self.id, sequence));
        if self.keeps(key) {
            self.conversations.end_rest(key, priority, sequence);
        }
        Some(Candidate {
            sequence,
            priority,
            key,
            tries,
        })
    }

    fn take_ready(&mut self, sequence: u64) -> Option<Candidate> {
        let ready = self.lanes.remove(sequence)?;
        if self.keeps(ready.key) {
            self.conversations.forget_ready(&ready);
        }
        Some(ready)
    }
}
