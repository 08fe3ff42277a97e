//! A history, put in order: calls with their answers, deliveries with what became of them.

use super::{Answer, Call, Delivered, How, Line, Message, Place, Wants, What, inbox, subscription};
use std::collections::{BTreeMap, BTreeSet};

/// One call, and the answer if there was one. Numbers are places in the history, so that of two
/// things the one with the lower number was seen first.
#[derive(Clone, Debug)]
pub(super) struct Told<'h> {
    pub(super) call: u64,
    pub(super) ask: &'h Call,
    pub(super) asked: usize,
    pub(super) answer: Option<&'h Answer>,
    pub(super) answered: usize,
    /// By the observer's clock; of the answer, if there was one.
    pub(super) at: i64,
    /// How often the exchange had died before it was asked.
    pub(super) life: usize,
}

/// One delivery to one reader.
#[derive(Clone, Debug)]
pub(super) struct Out<'h> {
    pub(super) place: &'h Place,
    pub(super) consumer: &'h Option<String>,
    pub(super) delivery: &'h Delivered,
    pub(super) call: u64,
    /// Whether its reader waited, so that it may have been asked for long before.
    pub(super) has_waited: bool,
    pub(super) asked: usize,
    pub(super) answered: usize,
    pub(super) at: i64,
    pub(super) life: usize,
}

/// What a reader said of a delivery.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) how: How,
    /// None: there was no answer.
    pub(super) is_taken: Option<bool>,
    pub(super) asked: usize,
    pub(super) answered: usize,
    pub(super) at: i64,
}

/// A durable subscription that somebody asked for.
pub(super) struct Subscribed<'h> {
    pub(super) name: &'h str,
    pub(super) wants: &'h Wants,
    pub(super) place: Place,
    pub(super) asked: usize,
    /// When it was there for sure.
    pub(super) is_there: usize,
}

/// A history by its calls.
pub(super) struct Index<'h> {
    pub(super) told: Vec<Told<'h>>,
    pub(super) outs: Vec<Out<'h>>,
    /// By the delivery's name.
    pub(super) words: BTreeMap<&'h str, Vec<Word>>,
    /// By the print of the message.
    pub(super) messages: BTreeMap<u64, &'h Message>,
    /// When each was asked for first, by its print.
    pub(super) asked_first: BTreeMap<u64, usize>,
    /// Parties and the keys of messages that they acknowledged in the mail, or tried to.
    pub(super) answered: BTreeSet<(&'h str, &'h str)>,
    pub(super) subscribed: Vec<Subscribed<'h>>,
    pub(super) unsubscribed: BTreeSet<&'h str>,
    pub(super) left: Vec<(&'h Place, &'h Option<String>, usize)>,
    /// Places that keep no order.
    pub(super) unordered: BTreeSet<Place>,
    /// For each line the latest moment that the clock shows from there on; it may be set back.
    latest: Vec<i64>,
}

impl<'h> Index<'h> {
    pub(super) fn of(history: &'h [Line]) -> Self {
        let mut told: Vec<Told<'h>> = Vec::new();
        let mut by_call = BTreeMap::new();
        let mut life = 0;
        for (place, line) in history.iter().enumerate() {
            match &line.what {
                What::Called { call, ask } => {
                    by_call.insert(*call, told.len());
                    told.push(Told {
                        call: *call,
                        ask,
                        asked: place,
                        answer: None,
                        answered: usize::MAX,
                        at: line.at,
                        life,
                    });
                }
                What::Answered { call, answer } => {
                    if let Some(one) = by_call.get(call).and_then(|at| told.get_mut(*at)) {
                        (one.answer, one.answered, one.at) = (Some(answer), place, line.at);
                    }
                }
                What::Abandoned { .. } => {}
                What::Died => life += 1,
            }
        }
        let mut index = Self {
            outs: Vec::new(),
            words: BTreeMap::new(),
            messages: BTreeMap::new(),
            asked_first: BTreeMap::new(),
            answered: BTreeSet::new(),
            subscribed: Vec::new(),
            unsubscribed: BTreeSet::new(),
            left: Vec::new(),
            unordered: BTreeSet::new(),
            latest: latest(history),
            told: Vec::new(),
        };
        told.iter().for_each(|one| index.add(one));
        index.told = told;
        index
    }

    /// Whether a message was too old at any moment since it was asked for.
    pub(super) fn was_too_old(&self, message: &Message) -> bool {
        let asked = self.asked_first.get(&message.print);
        let latest = asked.and_then(|asked| self.latest.get(*asked));
        let moments = message.deadline.zip(latest);
        moments.is_some_and(|(deadline, latest)| deadline <= *latest)
    }

    fn add(&mut self, told: &Told<'h>) {
        match (told.ask, told.answer) {
            (Call::Publish { message }, _) => {
                self.messages.insert(message.print, message);
                self.asked_first.entry(message.print).or_insert(told.asked);
                if let Some(key) = &message.acknowledges {
                    self.answered.insert((&message.sender, key));
                }
            }
            (Call::Configure { place, terms }, _) if !terms.is_ordered => {
                self.unordered.insert(place.clone());
            }
            (
                Call::Subscribe {
                    name,
                    wants,
                    deliver_to,
                    terms,
                },
                answer,
            ) => {
                if !terms.is_ordered {
                    self.unordered.insert(subscription(name));
                }
                let is_done = answer == Some(&Answer::Done);
                self.subscribed.push(Subscribed {
                    name,
                    wants,
                    place: deliver_to.as_deref().map_or(subscription(name), inbox),
                    asked: told.asked,
                    is_there: if is_done { told.answered } else { usize::MAX },
                });
            }
            (Call::Unsubscribe { name }, _) => {
                self.unsubscribed.insert(name);
            }
            (
                Call::Leave {
                    place, consumer, ..
                },
                _,
            ) => self.left.push((place, consumer, told.asked)),
            (
                Call::Pull {
                    place,
                    consumer,
                    wait,
                    ..
                },
                Some(Answer::Delivered(deliveries)),
            ) => {
                let outs = deliveries.iter().map(|delivery| Out {
                    place,
                    consumer,
                    delivery,
                    call: told.call,
                    has_waited: *wait,
                    asked: told.asked,
                    answered: told.answered,
                    at: told.at,
                    life: told.life,
                });
                self.outs.extend(outs);
            }
            (Call::Settle { deliveries, how }, answer) => {
                for (at, delivery) in deliveries.iter().enumerate() {
                    let is_taken = match answer {
                        Some(Answer::Settled(results)) => match results.get(at) {
                            Some(None) => Some(true),
                            // It may be written down although the answer is that it could not be.
                            Some(Some(code)) if code == "storage_failed" => None,
                            Some(Some(_)) => Some(false),
                            None => None,
                        },
                        _ => None,
                    };
                    self.words.entry(delivery.as_str()).or_default().push(Word {
                        how: *how,
                        is_taken,
                        asked: told.asked,
                        answered: told.answered,
                        at: told.at,
                    });
                }
            }
            _ => {}
        }
    }

    /// Calls of one kind with their answers.
    pub(super) fn answers<'i, T: 'i>(
        &'i self,
        kind: impl Fn(&'h Call, &'h Answer) -> Option<T> + 'i,
    ) -> impl Iterator<Item = (&'i Told<'h>, T)> + 'i {
        self.told.iter().filter_map(move |told| {
            let found = kind(told.ask, told.answer?)?;
            Some((told, found))
        })
    }

    /// What was said of a delivery.
    pub(super) fn words_of(&self, delivery: &str) -> &[Word] {
        self.words.get(delivery).map_or(&[], Vec::as_slice)
    }
}

fn latest(history: &[Line]) -> Vec<i64> {
    let mut latest = i64::MIN;
    let mut all: Vec<i64> = Vec::with_capacity(history.len());
    for line in history.iter().rev() {
        latest = latest.max(line.at);
        all.push(latest);
    }
    all.reverse();
    all
}
