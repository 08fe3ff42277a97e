//! What answers may say.

use super::owed::{Owed, State};
use super::{Known, Model, Verdict, check};
use crate::history::{
    Call, DeadLetter, Delivered, EXCHANGE, How, Message, Place, Stored, TaskStep, Wants, inbox,
    subscription,
};
use std::collections::BTreeMap;

impl Model {
    /// A message is taken once; whoever sends it again is told so.
    pub(super) fn receipt(
        &mut self,
        call: u64,
        message: &Message,
        sequence: u64,
        duplicate: bool,
    ) -> Verdict {
        let Some(at) = self.mail.iter().position(|known| known.message == *message) else {
            return Err("nobody sent this".into());
        };
        self.taken(at, sequence, call)?;
        let Some(known) = self.mail.get_mut(at) else {
            return Ok(());
        };
        check(
            duplicate || call <= known.told_at,
            "a repeat was taken for new",
        )?;
        check(
            !duplicate || known.asked > 1,
            "what is new was taken for a repeat",
        )?;
        check(
            duplicate || !known.is_first_told,
            "one message was new twice",
        )?;
        known.is_first_told |= !duplicate;
        if !duplicate {
            // So whatever was asked before has come to nothing.
            known.owed.values_mut().for_each(Owed::begin);
            self.acknowledge(at);
        }
        Ok(())
    }

    /// A message is in the journal, in one place, and calls after `told_at` find it there.
    fn taken(&mut self, at: usize, sequence: u64, told_at: u64) -> Verdict {
        let Some(known) = self.mail.get(at) else {
            return Ok(());
        };
        let is_same = known.sequence.is_none_or(|known| known == sequence);
        check(is_same, "one message has two places in the journal")?;
        for (_, other) in self
            .mail
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
        {
            let is_taken = other.sequence == Some(sequence);
            check(
                !is_taken,
                "one place in the journal was given to two messages",
            )?;
            let is_double = other.sequence.is_some() && other.message.has_key_of(&known.message);
            check(!is_double, "one id stands for two messages")?;
        }
        let is_news = known.sequence.is_none();
        if let Some(known) = self.mail.get_mut(at) {
            known.sequence = Some(sequence);
            known.told_at = known.told_at.min(told_at);
            known.is_doubtful = false;
        }
        if is_news {
            for at in 0..self.mail.len() {
                if self
                    .mail
                    .get(at)
                    .is_some_and(|known| known.sequence.is_some())
                {
                    self.acknowledge(at);
                }
            }
        }
        Ok(())
    }

    /// What this message acknowledges is over for its sender; or may be, as long as nobody was told
    /// that it was taken. A message and what follows from it are two records, and a crash may leave
    /// the first.
    pub(super) fn acknowledge(&mut self, at: usize) {
        let Some(known) = self.mail.get(at) else {
            return;
        };
        let (message, by, is_sure) = (known.message.clone(), known.sequence, known.is_first_told);
        let Some(key) = &message.acknowledges else {
            return;
        };
        for known in &mut self.mail {
            let is_meant =
                known.message.key == *key && message.targets.contains(&known.message.sender);
            // It means nothing when it came before what it answers.
            let is_later =
                by.is_none() || known.sequence.is_some_and(|sequence| by > Some(sequence));
            if let Some(owed) = known.owed.get_mut(&inbox(&message.sender))
                && is_meant
                && is_later
                && owed.state != State::Done
            {
                owed.state = if is_sure { State::Done } else { State::Unsure };
            }
        }
    }

    pub(super) fn subscribed(&mut self, name: &str, wants: &Wants) -> Verdict {
        let is_leaving = self.spot(&subscription(name)).is_leaving;
        for one in self.subscriptions.iter_mut().filter(|one| one.name == name) {
            let is_other = one.wants != *wants;
            check(
                !(is_other && one.is_sure),
                "one name stands for two subscriptions",
            )?;
            one.is_sure = !is_other && !is_leaving;
        }
        Ok(())
    }

    /// Some message that a reader was shown.
    fn shown(&mut self, stored: &Stored) -> Result<usize, String> {
        let found = self
            .mail
            .iter()
            .position(|known| known.message.print == stored.print);
        let at = match found {
            Some(at) => at,
            // The exchange's own words were not asked for.
            None if stored.sender == EXCHANGE => {
                self.mail.push(Known::own(stored));
                self.mail.len() - 1
            }
            None => return Err("these bytes were never sent".into()),
        };
        self.taken(at, stored.sequence, self.calls)?;
        Ok(at)
    }

    /// `must_give` is how many the reader asked for, when it did not wait.
    pub(super) fn delivered(
        &mut self,
        now: i64,
        call: u64,
        place: &Place,
        consumer: &Option<String>,
        must_give: Option<usize>,
        deliveries: &[Delivered],
    ) -> Verdict {
        self.pass(now, |one| one == place);
        let (terms, waits) = (self.terms_of(place), self.waits);
        let spot = self.spot(place);
        let (is_paused, is_leaving) = (spot.is_paused == Some(true), spot.is_leaving);
        check(
            !is_paused || deliveries.is_empty(),
            "a place that is paused delivers",
        )?;
        let room = terms.in_flight_max.saturating_sub(self.held(now, place));
        let due = self.due(now, call, place, consumer);
        for delivery in deliveries {
            let at = self.shown(&delivery.message)?;
            self.in_turn(now, call, at, place, consumer)?;
            let Some(known) = self.mail.get_mut(at) else {
                continue;
            };
            if known.message.sender == EXCHANGE {
                let own = || Owed::new(false, terms, waits, None);
                known.owed.entry(place.clone()).or_insert_with(own);
            }
            let owed = known
                .owed
                .get_mut(place)
                .ok_or("it came to a place that it is not for")?;
            owed.hand_out(now, consumer, delivery)?;
            owed.is_sure = !is_leaving;
        }
        check(deliveries.len() <= room, "more is in flight than may be")?;
        let got = |at: &usize| {
            let print = self.mail.get(*at).map(|known| known.message.print);
            deliveries
                .iter()
                .any(|one| Some(one.message.print) == print)
        };
        let is_full = must_give.is_none_or(|max| deliveries.len() >= max.min(room));
        let kept_back = due.iter().find(|at| !is_full && !got(at));
        kept_back.map_or(Ok(()), |at| {
            let key = self.mail.get(*at).map(|known| &known.message.key);
            Err(format!("{key:?} was due and was kept back"))
        })
    }

    /// What this call must find.
    pub(super) fn due(
        &self,
        now: i64,
        call: u64,
        place: &Place,
        consumer: &Option<String>,
    ) -> Vec<usize> {
        let is_open = |spot: &super::Spot| spot.is_paused == Some(false) && !spot.is_disturbed;
        if !self.spots.get(place).is_none_or(is_open) {
            return Vec::new();
        }
        let is_due = |known: &Known| {
            known.told_at < call && known.owed.get(place).is_some_and(|owed| owed.is_due(now))
        };
        // A conversation is with one consumer, and nothing overtakes what has to wait.
        let is_free = |known: &Known| {
            let mut others = self.of_conversation(known, place);
            others.all(|(other, owed)| {
                let is_theirs = owed.holder(now).is_none_or(|holder| holder == consumer);
                let may_wait = matches!(owed.state, State::Resting { .. } | State::Unsure);
                is_theirs && !(may_wait && other.goes_before(known))
            })
        };
        let due = self.mail.iter().enumerate();
        due.filter(|(_, known)| is_due(known) && is_free(known))
            .map(|(at, _)| at)
            .collect()
    }

    /// The rest of its conversation, where that has an order.
    fn of_conversation<'a>(
        &'a self,
        known: &'a Known,
        place: &'a Place,
    ) -> impl Iterator<Item = (&'a Known, &'a Owed)> {
        let conversation = known.message.conversation.as_ref();
        let is_ordered = conversation.is_some() && self.terms_of(place).is_ordered;
        let others = self.mail.iter().filter(move |other| {
            is_ordered
                && other.message.conversation.as_ref() == conversation
                && other.message.print != known.message.print
        });
        others.filter_map(|other| Some((other, other.owed.get(place)?)))
    }

    /// A conversation keeps to one consumer and in order.
    fn in_turn(
        &self,
        now: i64,
        call: u64,
        at: usize,
        place: &Place,
        consumer: &Option<String>,
    ) -> Verdict {
        let Some(known) = self.mail.get(at) else {
            return Ok(());
        };
        for (other, owed) in self.of_conversation(known, place) {
            let is_elsewhere = owed.holder(now).is_some_and(|holder| holder != consumer);
            check(!is_elsewhere, "its conversation is with another consumer")?;
            let is_before = other.goes_before(known);
            let has_overtaken = is_before && owed.is_resting(now);
            check(!has_overtaken, "it overtook one that has to wait")?;
            // Between priorities a patient one may pass.
            let is_equal = other.message.priority == known.message.priority;
            // An earlier pull without an answer may have it.
            let is_given = self
                .spots
                .get(place)
                .is_some_and(|spot| spot.pulls.range(..call).next().is_some());
            let is_overtaken =
                is_before && is_equal && !is_given && other.told_at < call && owed.is_due(now);
            check(!is_overtaken, "it overtook one of its conversation")?;
        }
        Ok(())
    }

    /// Only its holder settles a delivery, and only in time.
    pub(super) fn settled(
        &mut self,
        now: i64,
        delivery: &str,
        how: How,
        result: &Option<String>,
    ) -> Verdict {
        let has_failed = self.has_failed;
        let owed = self.held_as(delivery);
        match (
            owed.filter(|owed| owed.holder(now).is_some()),
            result.as_deref(),
        ) {
            (Some(owed), None) => {
                owed.settle(now, how);
                check(!has_failed, "a write was taken after one had failed")
            }
            (owed, Some("storage_failed")) => {
                if let Some(owed) = owed {
                    owed.doubt(now, how);
                }
                Ok(())
            }
            (None, Some("lease_lost")) => Ok(()),
            (None, _) => Err("it was settled by one who does not hold it".into()),
            (Some(_), Some(code)) => Err(format!("its holder may not settle it: {code}")),
        }
    }

    /// What is surely dead is listed, and nothing that surely is not.
    pub(super) fn dead(&mut self, now: i64, place: &Place, letters: &[DeadLetter]) -> Verdict {
        let mut listed = Vec::new();
        for DeadLetter { letter, message } in letters {
            let at = self.shown(message)?;
            self.letters.insert(letter.clone(), (at, place.clone()));
            let owed = self
                .letter(letter)
                .ok_or("a letter is dead where it is not owed")?;
            check(owed.may_be_dead(now), "a letter is called dead that is not")?;
            owed.bury();
            listed.push(at);
        }
        for (at, known) in self.mail.iter_mut().enumerate() {
            if let Some(owed) = known.owed.get_mut(place)
                && !listed.contains(&at)
            {
                let is_dead = owed.state == State::Dead && owed.is_sure;
                check(
                    !is_dead,
                    &format!("dead letter {} is gone", known.message.key),
                )?;
            }
        }
        Ok(())
    }

    /// Everything that was ever promised is in the journal, once, in order.
    pub(super) fn read(&mut self, messages: &[Stored]) -> Verdict {
        for stored in messages {
            self.shown(stored)?;
        }
        let is_sorted = messages.is_sorted_by(|one, next| one.sequence < next.sequence);
        check(is_sorted, "the journal is out of order")?;
        let holds = |sequence| {
            messages
                .iter()
                .any(|stored| Some(stored.sequence) == sequence)
        };
        let mut told = self.mail.iter().filter(|known| known.sequence.is_some());
        let lost = told.find(|known| !holds(known.sequence));
        if let Some(lost) = lost {
            return Err(format!("{} is lost", lost.message.key));
        }
        self.mail.iter().try_for_each(|known| {
            check(
                self.ends_of(known) < 2,
                &format!("{} ended twice", known.message.key),
            )
        })
    }

    /// How often a task has ended.
    pub(super) fn ends_of(&self, opened: &Known) -> usize {
        let Some(TaskStep::Opens(_)) = opened.message.task else {
            return 0;
        };
        let ends = TaskStep::Ends(opened.message.key.clone());
        let is_end = |known: &&Known| {
            known.message.task.as_ref() == Some(&ends) && known.sequence > opened.sequence
        };
        let is_taken = opened.sequence.is_some();
        self.mail.iter().filter(is_end).filter(|_| is_taken).count()
    }

    /// A reader gets everything that it wants, in order.
    pub(super) fn followed(&mut self, reader: u64, found: &[Stored]) -> Verdict {
        for stored in found {
            let at = self.shown(stored)?;
            if let Some(missed) = self.missing(reader, stored.sequence) {
                return Err(format!("a reader missed {missed}"));
            }
            let Some((wants, position)) = self.readers.get_mut(&reader) else {
                continue;
            };
            check(
                stored.sequence > *position,
                "a reader was given something again",
            )?;
            *position = stored.sequence;
            let is_wanted = self.mail.get(at).is_some_and(|known| {
                known.message.sender == EXCHANGE || known.message.is_wanted_by(wants)
            });
            check(is_wanted, "a reader was given what it does not want")?;
        }
        Ok(())
    }

    /// A message that a reader wants and has not, before this place in the journal.
    pub(super) fn missing(&self, reader: u64, before: u64) -> Option<&str> {
        let (wants, position) = self.readers.get(&reader)?;
        let missed = self.mail.iter().find(|known| {
            let is_between = known.sequence > Some(*position) && known.sequence < Some(before);
            is_between && known.message.sender != EXCHANGE && known.message.is_wanted_by(wants)
        });
        missed.map(|known| known.message.key.as_str())
    }

    /// A refusal has a reason.
    pub(super) fn may_refuse(&mut self, ask: &Call, code: &str) -> Verdict {
        let is_reason = match (ask, code) {
            (_, "storage_failed") => true,
            // The disk is slower with the names of older messages than they come in.
            (Call::Publish { .. }, "overloaded") => true,
            (Call::Publish { message }, "id_conflict" | "idempotency_conflict") => {
                let same = self
                    .mail
                    .iter()
                    .filter(|known| known.message.has_key_of(message));
                let (own, others): (Vec<_>, Vec<_>) = same.partition(|k| k.message == *message);
                !others.is_empty() && own.iter().all(|known| known.sequence.is_none())
            }
            (Call::Publish { message }, "illegal_transition") => {
                // Its task has ended, or its time is over.
                let Some(TaskStep::Ends(task)) = &message.task else {
                    return Err("it opens or ends nothing".into());
                };
                self.mail.iter().any(|known| {
                    let is_other_end =
                        known.message.task == message.task && known.message != *message;
                    let has_time = matches!(known.message.task, Some(TaskStep::Opens(Some(_))));
                    is_other_end || known.message.key == *task && has_time
                })
            }
            (Call::Subscribe { name, wants, .. }, "subscription_conflict") => {
                let mut others = self.subscriptions.iter();
                others.any(|one| one.name == *name && one.wants != *wants)
            }
            (Call::Unsubscribe { name }, "not_found") => !self.is_subscribed(name),
            (
                Call::Pull { place, .. } | Call::Pause { place, .. } | Call::DeadLetters { place },
                "not_found",
            ) => {
                let name = place.strip_prefix(&subscription(""));
                name.is_some_and(|name| !self.is_subscribed(name))
            }
            (Call::Redrive { letter } | Call::Drop { letter }, "not_found") => {
                let owed = self.letter(letter);
                owed.is_none_or(|owed| owed.state != State::Dead || !owed.is_sure)
            }
            _ => false,
        };
        check(is_reason, "it was refused for no reason")
    }

    fn is_subscribed(&self, name: &str) -> bool {
        self.subscriptions
            .iter()
            .any(|one| one.name == *name && one.is_sure)
    }
}

impl Known {
    /// Whether this one goes first in a conversation of both.
    fn goes_before(&self, other: &Self) -> bool {
        let rank = |one: &Self| (u8::MAX - one.message.priority, one.sequence);
        rank(self) < rank(other)
    }

    fn own(stored: &Stored) -> Self {
        Self {
            message: Message {
                sender: stored.sender.clone(),
                key: format!("the exchange's own {}", stored.sequence),
                print: stored.print,
                targets: Vec::new(),
                topics: Vec::new(),
                conversation: stored.conversation.clone(),
                priority: 1,
                deadline: None,
                max_attempts: None,
                acknowledges: None,
                task: stored.ends.clone().map(TaskStep::Ends),
            },
            asked: 1,
            sequence: None,
            told_at: u64::MAX,
            is_first_told: false,
            is_doubtful: false,
            owed: BTreeMap::new(),
        }
    }
}
