//! The judge. It knows what was asked, what was answered and what an exchange promises; it knows
//! nothing of how one is made. Lists, searched from end to end.
//!
//! A call without an answer may have happened, so some things are sure and some may be. Calls are
//! numbered, and a queue keeps their order.

mod owed;
mod rules;

use crate::history::{Answer, Call, Message, Place, TaskStep, Terms, Wants, inbox, subscription};
use owed::{Owed, State};
use std::collections::{BTreeMap, BTreeSet};

/// Nothing, or which promise was broken.
pub(super) type Verdict = Result<(), String>;

#[derive(Debug)]
pub(super) struct Model {
    /// The parties that have inboxes.
    parties: Vec<String>,
    /// How places deliver that were not told otherwise.
    terms: Terms,
    /// The shortest wait, and by how many thousandths a wait may be longer.
    waits: (i64, i64),
    /// The newest call.
    calls: u64,
    mail: Vec<Known>,
    subscriptions: Vec<Subscription>,
    spots: BTreeMap<Place, Spot>,
    letters: BTreeMap<String, (usize, Place)>,
    readers: BTreeMap<u64, (Wants, u64)>,
    has_failed: bool,
}

/// A message that somebody asked the exchange to take.
#[derive(Debug)]
struct Known {
    message: Message,
    asked: usize,
    /// Its place in the journal, once somebody was told.
    sequence: Option<u64>,
    /// Calls after this one must find it.
    told_at: u64,
    is_first_told: bool,
    /// Asked in this life, and without an answer.
    is_doubtful: bool,
    owed: BTreeMap<Place, Owed>,
}

/// A name is used once, so what is gone is gone.
#[derive(Debug)]
struct Subscription {
    name: String,
    wants: Wants,
    place: Place,
    is_sure: bool,
}

#[derive(Debug)]
struct Spot {
    terms: Terms,
    is_paused: Option<bool>,
    /// A puller went away; until the queue is empty nobody knows what was on its way to it.
    is_disturbed: bool,
    /// Somebody asked to remove it.
    is_leaving: bool,
    /// Pulls without an answer: what they were given is not known yet.
    pulls: BTreeSet<u64>,
}

impl Model {
    pub(super) fn new(parties: &[&str], terms: Terms, waits: (i64, i64)) -> Self {
        Self {
            parties: parties.iter().map(|party| (*party).to_owned()).collect(),
            terms,
            waits,
            calls: 0,
            mail: Vec::new(),
            subscriptions: Vec::new(),
            spots: BTreeMap::new(),
            letters: BTreeMap::new(),
            readers: BTreeMap::new(),
            has_failed: false,
        }
    }

    /// Somebody asks.
    pub(super) fn called(&mut self, call: u64, ask: &Call) {
        self.calls = call;
        match ask {
            Call::Publish { message } => self.asked_to_publish(message),
            Call::Configure { place, terms } => self.spot(place).terms = *terms,
            Call::Subscribe {
                name,
                wants,
                deliver_to,
                terms,
            } => {
                self.spot(&subscription(name)).terms = *terms;
                if self.subscription(name, wants).is_none() {
                    self.subscriptions.push(Subscription {
                        name: name.clone(),
                        wants: wants.clone(),
                        place: deliver_to.as_deref().map_or(subscription(name), inbox),
                        is_sure: false,
                    });
                }
            }
            Call::Unsubscribe { name } => {
                let of_name = |one: &&mut Subscription| one.name == *name;
                for one in self.subscriptions.iter_mut().filter(of_name) {
                    one.is_sure = false;
                }
                let place = subscription(name);
                self.spot(&place).is_leaving = true;
                self.at(&place).for_each(|owed| owed.is_sure = false);
            }
            Call::Pause { place, .. } => self.spot(place).is_paused = None,
            Call::Pull { place, .. } => drop(self.spot(place).pulls.insert(call)),
            Call::Settle { .. }
            | Call::Leave { .. }
            | Call::DeadLetters { .. }
            | Call::Redrive { .. }
            | Call::Drop { .. }
            | Call::Read
            | Call::Follow { .. }
            | Call::Next { .. } => {}
        }
    }

    fn asked_to_publish(&mut self, message: &Message) {
        let places = self.places_of(message);
        let waits = self.waits;
        let new = |place: &Place, is_sure| {
            let mut terms = self.terms_of(place);
            terms.max_attempts = message.max_attempts.unwrap_or(terms.max_attempts);
            Owed::new(is_sure, terms, waits, message.deadline)
        };
        let owed = places
            .iter()
            .map(|(place, is_sure)| (place.clone(), new(place, *is_sure)));
        let owed: BTreeMap<Place, Owed> = owed.collect();
        let Some(known) = self.mail.iter_mut().find(|known| known.message == *message) else {
            return self.mail.push(Known {
                message: message.clone(),
                asked: 1,
                sequence: None,
                told_at: u64::MAX,
                is_first_told: false,
                is_doubtful: true,
                owed,
            });
        };
        known.asked += 1;
        if known.sequence.is_none() {
            // Which of the two is taken is not known, so only what both owe is sure.
            known.is_doubtful = true;
            for (place, before) in &mut known.owed {
                before.is_sure &= places.get(place).copied().unwrap_or_default();
            }
            for (place, mut new) in owed {
                new.is_sure = false;
                known.owed.entry(place).or_insert(new);
            }
        }
    }

    /// Where a message goes that is taken now, and whether that is sure.
    fn places_of(&self, message: &Message) -> BTreeMap<Place, bool> {
        let mut places = BTreeMap::new();
        for target in &message.targets {
            let meant = self
                .parties
                .iter()
                .filter(|party| match target.strip_suffix('*') {
                    Some(prefix) => party.starts_with(prefix) && **party != message.sender,
                    None => *party == target,
                });
            places.extend(meant.map(|party| (inbox(party), true)));
        }
        for one in &self.subscriptions {
            if message.is_wanted_by(&one.wants) {
                *places.entry(one.place.clone()).or_default() |= one.is_sure;
            }
        }
        places
    }

    /// Somebody got an answer.
    pub(super) fn answered(&mut self, now: i64, call: u64, ask: &Call, answer: &Answer) -> Verdict {
        if let Call::Pull { place, .. } = ask {
            self.spot(place).pulls.remove(&call);
        }
        if let Answer::Refused(code) = answer {
            if code == "storage_failed" {
                self.unheard(now, ask);
            }
            return self.may_refuse(ask, code);
        }
        let writes = matches!(
            ask,
            Call::Publish { .. }
                | Call::Configure { .. }
                | Call::Subscribe { .. }
                | Call::Unsubscribe { .. }
                | Call::Pause { .. }
                | Call::Redrive { .. }
                | Call::Drop { .. }
        );
        let may_write = !self.has_failed || !writes;
        check(may_write, "a write was taken after one had failed")?;
        match (ask, answer) {
            (
                Call::Publish { message },
                Answer::Receipt {
                    sequence,
                    duplicate,
                },
            ) => self.receipt(call, message, *sequence, *duplicate),
            (Call::Subscribe { name, wants, .. }, Answer::Done) => self.subscribed(name, wants),
            (Call::Unsubscribe { name }, Answer::Done) => {
                self.subscriptions.retain(|one| one.name != *name);
                let place = subscription(name);
                self.mail
                    .iter_mut()
                    .for_each(|known| drop(known.owed.remove(&place)));
                Ok(())
            }
            (
                Call::Pull {
                    place,
                    consumer,
                    max,
                    wait,
                },
                Answer::Delivered(deliveries),
            ) => {
                let must_give = (!wait).then_some(*max);
                self.delivered(now, call, place, consumer, must_give, deliveries)
            }
            (Call::Settle { deliveries, how }, Answer::Settled(results)) => deliveries
                .iter()
                .zip(results)
                .try_for_each(|(delivery, result)| self.settled(now, delivery, *how, result)),
            (
                Call::Leave {
                    place,
                    consumer,
                    is_dead,
                },
                Answer::Done,
            ) => {
                let theirs = self.at(place).filter(|owed| owed.is_with(consumer));
                theirs.for_each(|owed| match is_dead {
                    true => owed.lose(now),
                    false => owed.give_back(now),
                });
                Ok(())
            }
            (Call::Pause { place, is_paused }, Answer::Done) => {
                self.spot(place).is_paused = Some(*is_paused);
                Ok(())
            }
            (Call::DeadLetters { place }, Answer::Dead(letters)) => self.dead(now, place, letters),
            (Call::Redrive { letter }, Answer::Done) => {
                let owed = self
                    .letter(letter)
                    .ok_or("a letter was redriven that is none")?;
                check(
                    owed.may_be_dead(now),
                    "a letter was redriven that is not dead",
                )?;
                owed.redrive();
                Ok(())
            }
            (Call::Drop { letter }, Answer::Done) => {
                let owed = self
                    .letter(letter)
                    .ok_or("a letter was dropped that is none")?;
                check(
                    owed.may_be_dead(now),
                    "a letter was dropped that is not dead",
                )?;
                owed.state = State::Done;
                Ok(())
            }
            (Call::Read, Answer::Journal(messages)) => self.read(messages),
            (
                Call::Follow {
                    reader,
                    wants,
                    after,
                },
                Answer::Done,
            ) => {
                self.readers.insert(*reader, (wants.clone(), *after));
                Ok(())
            }
            (Call::Next { reader, .. }, Answer::Journal(found)) => self.followed(*reader, found),
            (Call::Configure { .. }, Answer::Done) => Ok(()),
            (ask, answer) => Err(format!("{ask:?} was answered {answer:?}")),
        }
    }

    /// Nobody heard what became of this.
    pub(super) fn unheard(&mut self, now: i64, ask: &Call) {
        match ask {
            Call::Pull { place, .. } => self.spot(place).is_disturbed = true,
            Call::Settle { deliveries, how } => {
                for delivery in deliveries {
                    if let Some(owed) = self.held_as(delivery) {
                        owed.doubt(now, *how);
                    }
                }
            }
            Call::Redrive { letter } | Call::Drop { letter } => {
                if let Some(owed) = self.letter(letter) {
                    owed.state = State::Unsure;
                }
            }
            Call::Leave {
                place,
                consumer,
                is_dead: true,
            } => {
                let theirs = self.at(place).filter(|owed| owed.is_with(consumer));
                theirs.for_each(|owed| owed.doubt_loss(now));
            }
            _ => {}
        }
    }

    /// The exchange says that it takes no more writes.
    pub(super) fn failed(&mut self) {
        self.has_failed = true;
    }

    /// The loop took a turn and has no more to take; these calls still wait.
    pub(super) fn idle<'a>(
        &mut self,
        now: i64,
        waiting: impl Iterator<Item = &'a Call>,
    ) -> Verdict {
        self.spots
            .values_mut()
            .for_each(|spot| spot.is_disturbed = false);
        if self.has_failed {
            return Ok(());
        }
        self.pass(now, |_| true);
        let mail = self.mail.iter_mut();
        mail.flat_map(|known| known.owed.values_mut())
            .for_each(Owed::confirm);
        for ask in waiting {
            let keeps_waiting = match ask {
                Call::Pull {
                    place, consumer, ..
                } => {
                    self.held(now, place) >= self.terms_of(place).in_flight_max
                        || self.due(now, u64::MAX, place, consumer).is_empty()
                }
                Call::Next { reader, .. } => self.missing(*reader, u64::MAX).is_none(),
                _ => false,
            };
            check(keeps_waiting, &format!("\"{ask}\" waits for what is there"))?;
        }
        Ok(())
    }

    /// Time went by at some places.
    fn pass(&mut self, now: i64, is_there: impl Fn(&Place) -> bool) {
        for known in &mut self.mail {
            let is_taken = known.sequence.is_some();
            for (_, owed) in known.owed.iter_mut().filter(|(place, _)| is_there(place)) {
                match is_taken {
                    true => owed.pass(now),
                    false => owed.pass_unheard(now),
                }
            }
        }
    }

    /// The exchange is gone, and these calls have no answer.
    pub(super) fn died<'a>(&mut self, now: i64, unanswered: impl Iterator<Item = &'a Call>) {
        unanswered.for_each(|ask| self.unheard(now, ask));
        let mail = self.mail.iter_mut();
        mail.flat_map(|known| known.owed.values_mut())
            .for_each(|owed| owed.die(now));
        for at in 0..self.mail.len() {
            let is_doubtful = self
                .mail
                .get_mut(at)
                .is_some_and(|k| std::mem::take(&mut k.is_doubtful));
            if is_doubtful {
                self.acknowledge(at);
            }
        }
        self.readers.clear();
        self.spots.values_mut().for_each(|spot| {
            spot.is_disturbed = false;
            spot.pulls.clear();
        });
        self.has_failed = false;
    }

    /// The exchange is there again, by a clock that shows `now`.
    pub(super) fn resumed(&mut self, now: i64) {
        let mail = self.mail.iter_mut();
        mail.flat_map(|known| known.owed.values_mut())
            .for_each(|owed| owed.resume(now));
    }

    /// Nothing waits anywhere, and more time has gone by than anything may take: then everything that
    /// was owed has come, and every task with a time has ended.
    pub(super) fn ended(&self, now: i64) -> Verdict {
        for known in self.mail.iter().filter(|known| known.sequence.is_some()) {
            let key = &known.message.key;
            let is_timed = matches!(known.message.task, Some(TaskStep::Opens(Some(_))));
            let has_ended = !is_timed || self.ends_of(known) == 1;
            check(has_ended, &format!("the task {key} has not ended in time"))?;
            for (place, owed) in known.owed.iter().filter(|(_, owed)| owed.is_sure) {
                let is_met = !matches!(
                    owed.state,
                    State::Ready | State::Held { .. } | State::Resting { .. }
                );
                let has_come = is_met || owed.may_be_dead(now);
                check(has_come, &format!("{key} never came to {place}"))?;
            }
        }
        Ok(())
    }

    fn subscription(&self, name: &str, wants: &Wants) -> Option<usize> {
        let same = |one: &Subscription| one.name == name && one.wants == *wants;
        self.subscriptions.iter().position(same)
    }

    fn spot(&mut self, place: &Place) -> &mut Spot {
        let terms = self.terms;
        self.spots.entry(place.clone()).or_insert(Spot {
            terms,
            is_paused: Some(false),
            is_disturbed: false,
            is_leaving: false,
            pulls: BTreeSet::new(),
        })
    }

    fn terms_of(&self, place: &Place) -> Terms {
        self.spots.get(place).map_or(self.terms, |spot| spot.terms)
    }

    fn at(&mut self, place: &Place) -> impl Iterator<Item = &mut Owed> {
        self.mail
            .iter_mut()
            .filter_map(|known| known.owed.get_mut(place))
    }

    fn letter(&mut self, letter: &str) -> Option<&mut Owed> {
        let (at, place) = self.letters.get(letter)?;
        self.mail.get_mut(*at)?.owed.get_mut(place)
    }

    fn held_as(&mut self, delivery: &str) -> Option<&mut Owed> {
        let is_it = |owed: &&mut Owed| match &owed.state {
            State::Held { delivery: id, .. } => id == delivery,
            _ => false,
        };
        let mut owed = self
            .mail
            .iter_mut()
            .flat_map(|known| known.owed.values_mut());
        owed.find(is_it)
    }

    fn held(&self, now: i64, place: &Place) -> usize {
        let owed = self.mail.iter().filter_map(|known| known.owed.get(place));
        owed.filter(|owed| owed.holder(now).is_some()).count()
    }
}

fn check(holds: bool, broken: &str) -> Verdict {
    if holds { Ok(()) } else { Err(broken.into()) }
}
