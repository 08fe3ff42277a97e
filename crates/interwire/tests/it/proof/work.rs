//! What clients do to an exchange until it is gone, and how everything comes to its end afterwards.

use super::letters::{TIMEOUT_MS, letter, result};
use super::witness::{Record, Witness, filter, now, place, receipt_of, sequence, stored};
use client::{Event, From, SocketEvent};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::Random;
use testkit::history::{
    Answer, Call, How, Message, Stored, TaskStep, Terms, Wants, What, inbox, subscription,
};
use tokio::sync::Notify;

/// Short leases and waits, so that much happens in little time.
pub const TERMS: Terms = Terms {
    lease_ms: 1_500,
    max_attempts: 4,
    backoff_ms: 50,
    backoff_ms_max: 400,
    in_flight_max: 64,
    is_ordered: true,
};

/// Every place that messages wait in.
pub fn places(senders: usize) -> Vec<String> {
    let mut places = vec![
        inbox("agent:b"),
        inbox("agent:c"),
        subscription("everything"),
        subscription("channel"),
    ];
    places.extend((0..senders).map(|sender| inbox(&format!("agent:sender{sender}"))));
    places
}

/// Makes the inboxes and subscriptions.
pub async fn prepare(witness: &Witness, terms: Terms) {
    witness.configure("agent:b", terms).await;
    witness.configure("agent:c", terms).await;
    let loose = Terms {
        is_ordered: false,
        ..terms
    };
    let everything = Wants::Everything;
    witness.subscribe("everything", everything, terms).await;
    let channel = Wants::Target("bus:ops".into());
    witness.subscribe("channel", channel, loose).await;
}

/// Burns down with every answer; when it is burnt it is time.
pub struct Fuse {
    left: AtomicUsize,
    burnt: Notify,
}

impl Fuse {
    pub fn of(length: usize) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicUsize::new(length),
            burnt: Notify::new(),
        })
    }

    fn burn(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.burnt.notify_one();
        }
    }

    pub async fn is_burnt(&self) {
        self.burnt.notified().await;
    }
}

/// A letter: what decides where it goes, and its bytes.
pub type Letter = (Message, String);

/// Publishes one after the other until the exchange is gone or `most` were sent. Gives back what was
/// sent, answered or not.
pub async fn publish_over_http(
    witness: Witness,
    fuse: Arc<Fuse>,
    run: String,
    sender: usize,
    most: usize,
) -> Vec<Letter> {
    let mut sent = Vec::new();
    for number in 0..most {
        let (message, envelope) = letter(&run, sender, number);
        sent.push((message.clone(), envelope.clone()));
        if witness.publish(&message, &envelope).await.is_none() {
            break;
        }
        fuse.burn();
        // As a sender does that is not sure.
        let repeats = number % 5 == 0;
        if repeats && witness.publish(&message, &envelope).await.is_none() {
            break;
        }
    }
    sent
}

/// Publishes again what was sent before a kill, as senders do that had no answer, or lost it.
pub async fn repeat(witness: Witness, letters: Vec<Letter>) {
    for (message, envelope) in letters {
        if witness.publish(&message, &envelope).await.is_none() {
            return;
        }
    }
}

/// The same over one socket, with sixteen under way.
pub async fn publish_over_socket(
    witness: Witness,
    fuse: Arc<Fuse>,
    run: String,
    sender: usize,
    most: usize,
) -> Vec<Letter> {
    let mut sent = Vec::new();
    let Ok(socket) = witness.client.socket().await else {
        return sent;
    };
    let mut under_way = VecDeque::new();
    for number in 0..most {
        let (message, envelope) = letter(&run, sender, number);
        sent.push((message.clone(), envelope.clone()));
        let call = witness.record.ask(Call::Publish { message });
        let Ok(submitted) = socket.submit(&envelope).await else {
            return sent;
        };
        under_way.push_back((call, submitted));
        let is_last = number + 1 == most;
        while under_way.len() >= 16 || is_last {
            let Some((call, submitted)) = under_way.pop_front() else {
                break;
            };
            match submitted.receipt().await {
                Ok(receipt) => witness.record.answer(call, receipt_of(&receipt)),
                Err(error) => match error.problem() {
                    Some(problem) => {
                        let refused = Answer::Refused(problem.code.clone());
                        witness.record.answer(call, refused);
                    }
                    None => return sent,
                },
            }
            fuse.burn();
        }
    }
    sent
}

/// Reads a place as one of several consumers, with all the moods a consumer may have.
pub async fn consume(witness: Witness, fuse: Arc<Fuse>, from: String, name: String, seed: u64) {
    let mut random = Random::new(seed);
    let wait = Duration::from_millis(300);
    while let Some(found) = witness.pull(&from, Some(&name), 8, wait).await {
        for delivery in found {
            if random.one_in(3)
                && from == inbox("agent:b")
                && let Some((message, envelope)) = result(&delivery.envelope)
            {
                // The answer acknowledges what it answers.
                if witness.publish(&message, &envelope).await.is_none() {
                    return;
                }
                continue;
            }
            let how = match random.below(20) {
                0 | 1 => How::Nack(Some(120)),
                2 => How::Nack(None),
                3 => How::Reject,
                4 => How::Extend(None),
                // It forgets about this one.
                5 => continue,
                _ => How::Ack,
            };
            if witness.settle(&[&delivery.delivery], how).await.is_none() {
                return;
            }
            fuse.burn();
        }
        if random.one_in(12) && witness.leave(&from, &name).await.is_none() {
            return;
        }
    }
}

/// How far a live reader is, so that the next exchange can be asked for the rest.
#[derive(Clone, Debug)]
pub struct Position {
    wants: Wants,
    cursor: Option<String>,
}

impl Position {
    pub fn start(wants: Wants) -> Self {
        Self {
            wants,
            cursor: None,
        }
    }

    fn from(&self) -> From {
        self.cursor.clone().map_or(From::Earliest, From::At)
    }

    fn follow(&self, record: &Record) -> u64 {
        let reader = record.number();
        let call = record.ask(Call::Follow {
            reader,
            wants: self.wants.clone(),
            after: self.cursor.as_deref().map_or(0, sequence),
        });
        record.answer(call, Answer::Done);
        reader
    }

    fn came(&mut self, record: &Record, reader: u64, cursor: String, envelope: &[u8]) {
        let call = record.ask(Call::Next { reader, max: 1 });
        let found = vec![stored(&cursor, envelope)];
        record.answer(call, Answer::Journal(found));
        self.cursor = Some(cursor);
    }
}

/// Follows over server-sent events until the exchange is gone.
pub async fn follow_stream(witness: Witness, mut position: Position) -> Position {
    let reader = position.follow(&witness.record);
    let wanted = filter(&position.wants);
    let mut stream = witness.client.subscribe(wanted, position.from());
    loop {
        match stream.next().await {
            Ok(Event::Envelope { cursor, envelope }) => {
                position.came(&witness.record, reader, cursor, &envelope);
            }
            Ok(Event::CaughtUp) => {}
            Ok(Event::Gap(gap)) => panic!("{gap:?}"),
            Ok(Event::Reconnecting(_)) | Err(_) => return position,
        }
    }
}

/// Follows over a socket until the exchange is gone.
pub async fn follow_socket(witness: Witness, mut position: Position) -> Position {
    let Ok(socket) = witness.client.socket().await else {
        return position;
    };
    let wanted = filter(&position.wants);
    let Ok(mut events) = socket.subscribe(&wanted, &position.from()).await else {
        return position;
    };
    let reader = position.follow(&witness.record);
    while let Ok(Some(event)) = events.next().await {
        match event {
            SocketEvent::Deliver(found) => {
                position.came(&witness.record, reader, found.cursor, &found.envelope);
            }
            SocketEvent::CaughtUp => {}
            _ => break,
        }
    }
    position
}

/// Lets everything come to its end: whatever waits is taken and acknowledged, tasks run out of time,
/// dead letters are listed and the journal is read, which is given back.
pub async fn finish(witness: &Witness, places: &[String]) -> Vec<Stored> {
    // What nobody holds any more comes back, what rests comes in its time, and the exchange has its
    // word about tasks that nobody has answered.
    loop {
        let is_over = is_every_time_over(&witness.record);
        let mut left = 0;
        for name in places {
            drain(witness, name).await;
            let state = witness.client.place(&place(name)).await.unwrap();
            left += state.waiting + state.leased;
        }
        if left == 0 && is_over {
            break;
        }
    }
    for name in places {
        witness.dead_letters(name).await;
    }
    witness.read().await
}

async fn drain(witness: &Witness, from: &str) {
    loop {
        let wait = Duration::from_millis(20);
        let found = witness.pull(from, None, 100, wait).await.unwrap();
        if found.is_empty() {
            return;
        }
        let names: Vec<&str> = found.iter().map(|one| one.delivery.as_str()).collect();
        witness.settle(&names, How::Ack).await.unwrap();
    }
}

/// Whether the time of every task is over, and the exchange has had as much again to say so.
fn is_every_time_over(record: &Record) -> bool {
    let now = now();
    let is_open = |what: &What| match what {
        What::Called {
            ask: Call::Publish { message },
            ..
        } => {
            let is_task = matches!(message.task, Some(TaskStep::Opens(_)));
            let has_time = message.deadline.is_some_and(|end| end + TIMEOUT_MS > now);
            usize::from(is_task && has_time)
        }
        _ => 0,
    };
    record.sum(is_open) == 0
}
