//! The records of a world with the look-ups that an index offers, and traces made from them.

use crate::world::{Message, World};
use interwire_exchange::Record;
use interwire_exchange::trace::{Ask, Found, Gather, Offered, Query, Style, Trace};
use std::collections::HashMap;

/// The records of a world, with the look-ups that a journal's index offers.
pub struct Library {
    pub records: Vec<Record>,
    ids: HashMap<String, Vec<u64>>,
    mentions: HashMap<String, Vec<u64>>,
}

impl Library {
    pub fn of(world: &World) -> Self {
        let mut library = Self {
            records: Vec::new(),
            ids: HashMap::new(),
            mentions: HashMap::new(),
        };
        for ((kind, body), sequence) in world.journal.iter().zip(1..) {
            let record = Record::decode(*kind, body).unwrap();
            if let Record::Published { header, .. } = &record {
                let ids = library.ids.entry(header.id.to_string()).or_default();
                ids.push(sequence);
                let texts = [
                    &header.conversation,
                    &header.correlation,
                    &header.cause,
                    &header.task,
                ];
                for text in texts.into_iter().flatten() {
                    let mentions = library.mentions.entry(text.to_string()).or_default();
                    if mentions.last() != Some(&sequence) {
                        mentions.push(sequence);
                    }
                }
            }
            library.records.push(record);
        }
        library
    }

    fn offer(&self, gather: &mut Gather, sequence: u64) {
        if let Record::Published {
            at,
            header,
            recipients,
            places,
            ..
        } = &self.records[sequence as usize - 1]
        {
            gather.offer(&Offered {
                sequence,
                at: *at,
                header,
                recipients,
                places,
                warnings: &[],
            });
        }
    }

    fn look_up(&self, ask: &Ask) -> (Vec<u64>, Option<u64>) {
        let (all, after, limit) = match ask {
            Ask::Id(id) => (self.ids.get(&**id), 0, usize::MAX),
            Ask::Mention { text, after, limit } => (self.mentions.get(&**text), *after, *limit),
        };
        let all = all.into_iter().flatten().copied();
        let seen = all.filter(|at| *at > after);
        let found: Vec<u64> = seen.take(limit).collect();
        let last = found.last().copied().filter(|_| found.len() == limit);
        (found, last)
    }

    pub fn find(&self, query: Query) -> Found {
        let mut gather = Gather::new(query);
        while let Some(ask) = gather.ask() {
            let (found, last) = self.look_up(&ask);
            for sequence in found {
                if !gather.knows(sequence) {
                    self.offer(&mut gather, sequence);
                }
            }
            gather.answered(&ask, last);
        }
        gather.finish()
    }

    pub fn trace(&self, query: Query) -> Trace {
        match self.find(query) {
            Found::Trace(trace) => *trace,
            other => panic!("expected a trace, got {other:?}"),
        }
    }
}

pub fn query(text: &str) -> Query {
    Query {
        text: text.into(),
        by: None,
        sender: None,
        after: 0,
        limit: 1_000_000,
    }
}

/// A message of `conversation`; an empty text means none.
pub fn message(id: &str, from: &str, to: &[&str], conversation: &str, cause: &str) -> Message {
    let text = |text: &str| (!text.is_empty()).then(|| text.into());
    Message::new(id, to).from(from).with(|header| {
        header.conversation = text(conversation);
        header.cause = text(cause);
    })
}

pub fn task(message: Message, task: &str) -> Message {
    message.with(|header| header.task = Some(task.into()))
}

pub fn correlation(message: Message, correlation: &str) -> Message {
    message.with(|header| header.correlation = Some(correlation.into()))
}

pub fn world(messages: Vec<Message>) -> World {
    let mut world = World::new();
    for message in messages {
        world.publish(message);
        world.pass(10);
    }
    world
}

/// The whole trace with all that is known of it.
pub fn full(world: &World, text: &str) -> Trace {
    let library = Library::of(world);
    let mut trace = library.trace(query(text));
    for record in &library.records {
        trace.happened(record);
    }
    for place in trace.places() {
        trace.name(place, world.exchange.place_name(place).cloned());
    }
    for (sequence, place) in trace.open(usize::MAX) {
        let state = world.exchange.delivery_state(place, sequence);
        trace.stands(sequence, place, state.as_ref());
    }
    trace
}

pub fn text(trace: &Trace) -> String {
    let mut out = String::new();
    trace.write_text(&mut out, Style::default()).unwrap();
    out
}

/// The ids of the tree's lines, each behind as many dots as it is deep.
pub fn shape(trace: &Trace) -> Vec<String> {
    let text = text(trace);
    let lines = text
        .lines()
        .skip(1)
        .filter(|line| !line.contains("related:"));
    lines
        .map(|line| {
            let line: String = line.chars().skip(12).collect();
            let bar = |c: char| "│├└─ ".contains(c);
            let depth = line.chars().take_while(|c| bar(*c)).count() / 3;
            let words: Vec<&str> = line.trim_start_matches(bar).split_whitespace().collect();
            let name = match words[0] {
                "?" | "…" => format!("{}{}", words[0], words[1]),
                _ => words[words.len() - 1].to_owned(),
            };
            format!("{}{name}", ".".repeat(depth))
        })
        .collect()
}

pub fn sequences(trace: &Trace) -> Vec<u64> {
    trace.sequences().collect()
}

pub fn json_of(trace: &Trace) -> String {
    let mut out = String::new();
    trace.write_json(&mut out, &|at| at.to_string()).unwrap();
    out
}
